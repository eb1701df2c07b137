// A libFuzzer target for scripts/fuzz, compiled in one module with the collections' states.
//
// Each three bytes of the input are one change of a list or a map. After each change, the state must
// equal a plain array or dictionary. At the end, the differences between the versions are checked.
//
// After a first byte of 255, the lines of the input are a condition, an order and the data of
// elements.

import LockstepJSON

/// Checks one input. libFuzzer keeps the bytes valid during the call.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzCollections(_ start: UnsafeRawPointer?, _ count: Int) -> CInt {
  let input = UnsafeRawBufferPointer(start: start, count: count)
  guard let kind = input.first else { return 0 }
  if kind == 255 {
    let lines = input.dropFirst().split(separator: UInt8(ascii: "\n"), maxSplits: 40, omittingEmptySubsequences: false)
    checkQuery(lines.map { String(decoding: $0, as: UTF8.self) })
    return 0
  }
  let changes = stride(from: 1, to: count - 2, by: 3).map { (input[$0], input[$0 + 1], input[$0 + 2]) }
  if kind % 2 == 0 { checkList(changes, growth: Int(kind) % 20) } else { checkMap(changes, growth: Int(kind) % 20) }
  return 0
}

/// Names with and without escapes. The list starts large for some inputs, so that it has branches.
private func name(_ number: Int) -> String { number % 16 == 7 ? "\"\(number)" : "item-\(number)" }

private func item(_ id: String, _ length: UInt8) -> EncodedJSON {
  let text = String(repeating: "x", count: length > 250 ? 9_000 : Int(length))
  return EncodedJSON(
    length % 7 == 3 ? ["text": .string(text), "id": .string(id)] : ["id": .string(id), "text": .string(text)]
  )
}

private func checkList(_ changes: [(UInt8, UInt8, UInt8)], growth: Int) {
  var (list, model): (ListState, [(id: String, text: [UInt8])]) = (ListState(), [])
  for number in 0..<(growth * 12) {
    let (id, item) = (name(number), item(name(number), UInt8(number % 40)))
    list.apply(.inserted(id: id, item: item, index: list.count))
    model.append((id, item.encoded))
  }
  let first = list
  for (kind, which, where_) in changes {
    let number = Int(which) * 12 + Int(kind) / 8 % 12
    let id = name(number)
    let place = model.firstIndex { $0.id == id }
    let index = Int(where_) * (model.count + 2) / 256 - 1
    switch kind % 8 {
    case 0, 1, 2:
      let item = item(id, where_)
      list.apply(.inserted(id: id, item: item, index: index))
      if place == nil { model.insert((id, item.encoded), at: min(max(index, 0), model.count)) }
    case 3, 4:
      list.apply(.removed(id: id))
      if let place { model.remove(at: place) }
    case 5:
      list.apply(.moved(id: id, to: index))
      if let place {
        let element = model.remove(at: place)
        model.insert(element, at: min(max(index, 0), model.count))
      }
    default:
      let item = item(id, where_)
      list.apply(.modified(id: id, item: item))
      if let place { model[place].text = item.encoded }
    }
    check(list.count == model.count, "the list has as many elements as the array")
    check(list.index(of: id) == model.firstIndex { $0.id == id }, "an element has its index")
  }
  check(list.items.map(\.encoded) == model.map(\.text), "the list has the elements of the array")
  check(list.bytes == model.reduce(0) { $0 + $1.text.count }, "the sizes are equal")
  checkDifference(from: first, to: list)
  checkDifference(from: list, to: first)
}

/// Checks that a query selects the elements that it selects one by one, and that its order loses none.
private func checkQuery(_ lines: [String]) {
  guard lines.count > 2 else { return }
  let query = try? ElementQuery(conditions: [lines[0]], order: nil, members: nil)
  let ordered = try? ElementQuery(conditions: [lines[0]], order: lines[1], members: ["id", "data"])
  guard let query else { return check(ordered == nil, "a malformed condition is refused with any order") }
  var (list, selected): (ListState, [ListItem]) = (ListState(), [])
  for (number, line) in lines[2...].enumerated() {
    guard let data = try? JSON(parsing: line) else { continue }
    let id = name(number)
    let item = EncodedJSON(["id": .string(id), "data": data])
    list.apply(.inserted(id: id, item: item, index: list.count))
    let one = ListState([ListItem(id: ElementKey(id), encoded: item.encoded, revision: .none)], revision: .none)
    selected += one.items(withPrefix: nil, matching: query)
  }
  check(list.items(withPrefix: nil, matching: query) == selected, "a query selects each element for itself")
  guard let ordered else { return }
  let sorted = list.items(withPrefix: nil, matching: ordered).map(\.id).sorted()
  check(sorted == selected.map(\.id).sorted(), "an order loses no element and adds none")
}

private func checkDifference(from old: ListState, to new: ListState) {
  let difference = ListDifference(from: old, to: new)
  var items: [ListItem?] = old.items.map { $0 }
  for deletion in difference.deletions { items[deletion.index] = nil }
  for move in difference.moves { items[move.from] = nil }
  var result = items.compactMap(\.self)
  let arrivals =
    difference.insertions.map { ($0.index, $0.item) } + difference.moves.map { ($0.to, old.items[$0.from]) }
  for (index, item) in arrivals.sorted(by: { $0.0 < $1.0 }) {
    check(index <= result.count, "an arrival has a place")
    result.insert(item, at: index)
  }
  for change in difference.modifications { result[change.newIndex] = change.item }
  check(result == Array(new.items), "the difference leads to the new list")
}

private func checkMap(_ changes: [(UInt8, UInt8, UInt8)], growth: Int) {
  var (map, model): (MapState, [ElementKey: [UInt8]]) = (MapState(), [:])
  for number in 0..<(growth * 12) {
    map.apply(.set(key: name(number), value: EncodedJSON(.integer(Int64(number)))))
    model[ElementKey(name(number))] = Array("\(number)".utf8)
  }
  let (first, firstModel) = (map, model)
  for (kind, which, length) in changes {
    let key = name(Int(which) * 12 + Int(kind) / 8 % 12)
    if kind % 2 == 0 {
      let value = item(key, length)
      map.apply(.set(key: key, value: value))
      model[ElementKey(key)] = value.encoded
    } else {
      map.apply(.removed(key: key))
      model[ElementKey(key)] = nil
    }
    check(map.count == model.count, "the map has as many values as the dictionary")
  }
  let sorted = model.sorted { $0.key < $1.key }
  check(map.values.map(\.key) == sorted.map(\.key), "the map has the keys of the dictionary")
  check(map.values.map(\.value.encoded) == sorted.map(\.value), "the map has the values of the dictionary")
  let changed = Set(model.keys).union(firstModel.keys).filter { model[$0] != firstModel[$0] }.sorted()
  check(first.changedKeys(in: map) == changed, "the changed keys are those that differ")
}

private func check(_ isTrue: Bool, _ property: StaticString) {
  precondition(isTrue, "does not hold: \(property)")
}
