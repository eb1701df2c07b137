import Foundation
import LockstepClient

/// The index paths of an update, for a table view or a collection view that shows the list in one section.
package struct UpdatePaths: Sendable {
  /// In the list before the update.
  package let deletions: [IndexPath]
  /// In the list after the update.
  package let insertions: [IndexPath]
  /// From the list before the update to the one after it.
  package let moves: [(from: IndexPath, to: IndexPath)]
  /// In the list after the update.
  package let modifications: [IndexPath]

  package init<Element>(_ update: ListUpdate<Element>, section: Int) {
    let change = update.changeset
    deletions = change.deletions.map { [section, $0.index] }
    insertions = change.insertions.map { [section, $0.index] }
    moves = change.moves.map { ([section, $0.from], [section, $0.to]) }
    modifications = change.modifications.map { [section, $0.newIndex] }
  }
}
