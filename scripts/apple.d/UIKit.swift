@_exported import Foundation

// Declarations that `LockstepClientUI` uses.

@MainActor
open class UITableView: NSObject {
  public enum RowAnimation: Int, Sendable { case automatic }
  open func reloadData() {}
  open func numberOfRows(inSection section: Int) -> Int { 0 }
  open func performBatchUpdates(_ updates: (() -> Void)?, completion: ((Bool) -> Void)? = nil) {}
  open func performBatchUpdates(_ updates: (() -> Void)?) async -> Bool { true }
  open func deleteRows(at paths: [IndexPath], with animation: RowAnimation) {}
  open func insertRows(at paths: [IndexPath], with animation: RowAnimation) {}
  open func moveRow(at path: IndexPath, to new: IndexPath) {}
  open func reconfigureRows(at paths: [IndexPath]) {}
}

@MainActor
open class UICollectionView: NSObject {
  open func reloadData() {}
  open func numberOfItems(inSection section: Int) -> Int { 0 }
  open func performBatchUpdates(_ updates: (() -> Void)?, completion: ((Bool) -> Void)? = nil) {}
  open func performBatchUpdates(_ updates: (() -> Void)?) async -> Bool { true }
  open func deleteItems(at paths: [IndexPath]) {}
  open func insertItems(at paths: [IndexPath]) {}
  open func moveItem(at path: IndexPath, to new: IndexPath) {}
  open func reconfigureItems(at paths: [IndexPath]) {}
}

public struct NSDiffableDataSourceSnapshot<Section: Hashable & Sendable, Item: Hashable & Sendable> {
  public init() {}
  public mutating func appendSections(_ sections: [Section]) {}
  public mutating func appendItems(_ items: [Item], toSection section: Section? = nil) {}
  public mutating func reconfigureItems(_ items: [Item]) {}
}

// The SDKs differ in whether `apply` is isolated. Here, one is and one is not.

@MainActor
open class UITableViewDiffableDataSource<Section: Hashable & Sendable, Item: Hashable & Sendable>: NSObject {
  nonisolated open func apply(
    _ snapshot: NSDiffableDataSourceSnapshot<Section, Item>,
    animatingDifferences: Bool = true,
    completion: (() -> Void)? = nil
  ) {}
  nonisolated open func apply(
    _ snapshot: NSDiffableDataSourceSnapshot<Section, Item>,
    animatingDifferences: Bool = true
  ) async {}
}

@MainActor
open class UICollectionViewDiffableDataSource<Section: Hashable & Sendable, Item: Hashable & Sendable>: NSObject {
  open func apply(
    _ snapshot: NSDiffableDataSourceSnapshot<Section, Item>,
    animatingDifferences: Bool = true,
    completion: (() -> Void)? = nil
  ) {}
  open func apply(
    _ snapshot: NSDiffableDataSourceSnapshot<Section, Item>,
    animatingDifferences: Bool = true
  ) async {}
}
