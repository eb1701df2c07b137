#if canImport(UIKit) && !os(watchOS)
  import LockstepClient
  import LockstepReactor
  import UIKit

  extension ListDriver {
    /// Shows the list in one section of a table view until the task is cancelled. The data source must return the
    /// elements of `items`.
    @MainActor
    public func run(_ view: UITableView, section: Int = 0, animation: UITableView.RowAnimation = .automatic) async {
      await run { update in
        let change = update.changeset
        await withCheckedContinuation { continuation in
          view.performBatchUpdates {
            view.deleteRows(at: change.deletions.map { IndexPath(row: $0.index, section: section) }, with: animation)
            view.insertRows(at: change.insertions.map { IndexPath(row: $0.index, section: section) }, with: animation)
            for move in change.moves {
              view.moveRow(
                at: IndexPath(row: move.from, section: section),
                to: IndexPath(row: move.to, section: section)
              )
            }
          } completion: { _ in
            continuation.resume()
          }
        }
        view.reconfigureRows(at: change.modifications.map { IndexPath(row: $0.newIndex, section: section) })
      }
    }

    /// Shows the list in one section of a collection view until the task is cancelled. The data source must return
    /// the elements of `items`.
    @MainActor
    public func run(_ view: UICollectionView, section: Int = 0) async {
      await run { update in
        let change = update.changeset
        await withCheckedContinuation { continuation in
          view.performBatchUpdates {
            view.deleteItems(at: change.deletions.map { IndexPath(item: $0.index, section: section) })
            view.insertItems(at: change.insertions.map { IndexPath(item: $0.index, section: section) })
            for move in change.moves {
              view.moveItem(
                at: IndexPath(item: move.from, section: section),
                to: IndexPath(item: move.to, section: section)
              )
            }
          } completion: { _ in
            continuation.resume()
          }
        }
        view.reconfigureItems(at: change.modifications.map { IndexPath(item: $0.newIndex, section: section) })
      }
    }

    /// Shows the list in one section of a diffable data source of ids until the task is cancelled.
    @MainActor
    public func run<Section: Hashable & Sendable>(
      _ source: UITableViewDiffableDataSource<Section, String>,
      section: Section
    ) async {
      await run { update in
        await source.apply(Self.snapshot(update, section))
      }
    }

    /// The same for a collection view.
    @MainActor
    public func run<Section: Hashable & Sendable>(
      _ source: UICollectionViewDiffableDataSource<Section, String>,
      section: Section
    ) async {
      await run { update in
        await source.apply(Self.snapshot(update, section))
      }
    }

    private static func snapshot<Section: Hashable>(_ update: ListUpdate<Element>, _ section: Section)
      -> NSDiffableDataSourceSnapshot<Section, String>
    {
      var snapshot = NSDiffableDataSourceSnapshot<Section, String>()
      snapshot.appendSections([section])
      snapshot.appendItems(update.new.map(\.id), toSection: section)
      snapshot.reconfigureItems(update.changeset.modifications.map(\.element.id))
      return snapshot
    }
  }
#endif
