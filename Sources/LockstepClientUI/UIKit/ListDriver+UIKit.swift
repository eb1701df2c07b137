#if canImport(UIKit) && !os(watchOS)
  import LockstepClient
  import UIKit

  extension ListDriver {
    /// Shows the list in one section of a table view until the task is cancelled. The data source must return the
    /// elements of `items`.
    @MainActor
    public func run(_ view: UITableView, section: Int = 0, animation: UITableView.RowAnimation = .automatic) async {
      // The view counts its rows now, while `items` has those of before the first update.
      view.reloadData()
      _ = view.numberOfRows(inSection: section)
      await run { update, commit in
        let paths = UpdatePaths(update, section: section)
        await withCheckedContinuation { continuation in
          view.performBatchUpdates {
            commit()
            view.deleteRows(at: paths.deletions, with: animation)
            view.insertRows(at: paths.insertions, with: animation)
            for move in paths.moves { view.moveRow(at: move.from, to: move.to) }
          } completion: { _ in
            continuation.resume()
          }
        }
        view.reconfigureRows(at: paths.modifications)
      }
    }

    /// Shows the list in one section of a collection view until the task is cancelled. The data source must return
    /// the elements of `items`.
    @MainActor
    public func run(_ view: UICollectionView, section: Int = 0) async {
      view.reloadData()
      _ = view.numberOfItems(inSection: section)
      await run { update, commit in
        let paths = UpdatePaths(update, section: section)
        await withCheckedContinuation { continuation in
          view.performBatchUpdates {
            commit()
            view.deleteItems(at: paths.deletions)
            view.insertItems(at: paths.insertions)
            for move in paths.moves { view.moveItem(at: move.from, to: move.to) }
          } completion: { _ in
            continuation.resume()
          }
        }
        view.reconfigureItems(at: paths.modifications)
      }
    }

    /// Shows the list in one section of a diffable data source of ids until the task is cancelled. Its cell provider
    /// gets the elements from `element(_:)`.
    @MainActor
    public func run<Section: Hashable & Sendable>(
      _ source: UITableViewDiffableDataSource<Section, String>,
      section: Section
    ) async {
      await run { update, commit in
        // A cell provider may need a new element within the call, and an old one too, as `element(_:)` says.
        commit()
        await source.apply(Self.snapshot(update, section))
      }
    }

    /// Shows the list in one section of a diffable data source of ids until the task is cancelled. Its cell provider
    /// gets the elements from `element(_:)`.
    @MainActor
    public func run<Section: Hashable & Sendable>(
      _ source: UICollectionViewDiffableDataSource<Section, String>,
      section: Section
    ) async {
      await run { update, commit in
        // A cell provider may need a new element within the call, and an old one too, as `element(_:)` says.
        commit()
        await source.apply(Self.snapshot(update, section))
      }
    }

    private static func snapshot<Section: Hashable & Sendable>(
      _ update: ListUpdate<Element>,
      _ section: Section
    ) -> NSDiffableDataSourceSnapshot<Section, String> {
      var snapshot = NSDiffableDataSourceSnapshot<Section, String>()
      snapshot.appendSections([section])
      snapshot.appendItems(update.new.map(\.id), toSection: section)
      snapshot.reconfigureItems(update.changeset.modifications.map(\.element.id))
      return snapshot
    }
  }
#endif
