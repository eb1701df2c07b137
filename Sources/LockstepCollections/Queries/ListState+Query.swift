import LockstepJSON

extension ListState {
  /// The elements that meet the conditions of a query and whose ids begin with a prefix, in the order
  /// of the query.
  package func items(withPrefix prefix: String?, matching query: ElementQuery) -> [ListItem] {
    var items: [ListItem] = []
    var sorter = ElementSorter(query.order)
    var places = Array(repeating: 0..<0, count: query.finder.count)
    places.withUnsafeMutableBufferPointer { places in
      elements.tree.forEachLeaf { leaf in
        leaf.text.withUnsafeBufferPointer { text in
          for offset in 0..<leaf.count {
            if let prefix, !leaf.hasName(at: offset, withPrefix: prefix) { continue }
            let element = UnsafeBufferPointer(rebasing: text[leaf.range(at: offset)])
            query.finder.find(in: element, places: places)
            guard query.areMet(in: element, places) else { continue }
            items.append(ListItem(leaf, offset))
            sorter.add(element, places)
          }
        }
      }
    }
    return query.order.isEmpty ? items : sorter.sorted(items)
  }
}

extension ElementQuery {
  fileprivate func areMet(in element: UnsafeBufferPointer<UInt8>, _ places: UnsafeMutableBufferPointer<Range<Int>>)
    -> Bool
  {
    for condition in conditions {
      guard condition.comparison.holds(for: element, at: places[condition.path]) else { return false }
    }
    return true
  }
}
