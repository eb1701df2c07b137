import LockstepJSON
import LockstepTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ObjectTests {
  @Test("Replacing and removing members keeps the order of the others")
  func order() {
    var object: JSONObject = ["b": 1, "a": 2, "c": 3]
    object["a"] = 4
    #expect(object.names == ["b", "a", "c"])
    #expect(object.removeValue(named: "b") == 1)
    object["b"] = 5
    #expect(object.names == ["a", "c", "b"])
    #expect(object.removeValue(named: "x") == nil)
    object["c"] = nil
    #expect(object.names == ["a", "b"])
    object["a"] = JSON.null
    #expect(object["a"] == .some(.null))
    #expect(object.contains(name: "a") && !object.contains(name: "c"))
  }

  @Test("The last value of a repeated name in a literal or sequence wins")
  func repeatedNames() {
    let literal: JSONObject = ["a": 1, "b": 2, "a": 3]
    #expect(JSON.object(literal).description == #"{"a":3,"b":2}"#)
    #expect(JSONObject([("x", 1), ("x", 2)]) == ["x": 2])
  }

  @Test("An object is a collection of its members")
  func collection() {
    let object: JSONObject = ["a": 1, "b": 2]
    #expect(object.count == 2)
    #expect(object.map(\.name) == ["a", "b"])
    #expect(object.last?.value == 2)
    #expect(JSONObject().isEmpty)
  }

  @Test("Any series of changes gives the same members as a plain list", arguments: [UInt64(1), 2, 3])
  func againstModel(_ seed: UInt64) {
    var random = SeededNumbers(seed: seed)
    var object = JSONObject()
    var model: [(name: String, value: JSON)] = []
    for step in 0..<4_000 {
      // Growing and shrinking take turns, so that the object switches between scan and index many
      // times.
      let grows = (step / 200).isMultiple(of: 2)
      let name = "name\(Int.random(in: 0..<60, using: &random))"
      let place = model.firstIndex { $0.name == name }
      switch Int.random(in: 0..<10, using: &random) {
      case 0 where step.isMultiple(of: 97):
        let digit = Character(String(Int.random(in: 0..<10, using: &random)))
        object.removeAll { name, _ in name.last == digit }
        model.removeAll { $0.name.last == digit }
      case 1 where step.isMultiple(of: 5):
        object.reserveCapacity(Int.random(in: 0..<100, using: &random))
      case 0..<(grows ? 8 : 2):
        object[name] = JSON(step)
        if let place { model[place].value = JSON(step) } else { model.append((name, JSON(step))) }
      default:
        let removed = object.removeValue(named: name)
        #expect(removed == place.map { model[$0].value })
        if let place { model.remove(at: place) }
      }
      let other = "name\(Int.random(in: 0..<60, using: &random))"
      #expect(object[other] == model.first { $0.name == other }?.value)
    }
    #expect(object.names == model.map(\.name))
    #expect(object.map(\.value) == model.map(\.value))
  }

  @Test("A copy does not change with its original")
  func valueSemantics() {
    var original = JSONObject((0..<100).map { ("name\($0)", JSON($0)) })
    let copy = original
    original["name5"] = nil
    original["new"] = 1
    #expect(copy.count == 100)
    #expect(copy["name5"] == 5)
    #expect(copy["new"] == nil as JSON?)
    #expect(original["name99"] == 99)
  }

  @Test("Setting, finding and comparing many members takes linear time")
  func manyMembers() {
    expectLinearGrowth(from: 500, of: { _ in }) { count, _ in
      var object = JSONObject()
      for number in 0..<count { object["name\(number)"] = JSON(number) }
      for number in 0..<count where object["name\(number)"] != JSON(number) { Issue.record("lost \(number)") }
      let reversed = JSONObject(object.reversed().map { ($0.name, $0.value) })
      #expect(object == reversed)
      object.removeAll { _, value in value.intValue?.isMultiple(of: 2) == true }
      #expect(object.count == count / 2)
    }
  }
}
