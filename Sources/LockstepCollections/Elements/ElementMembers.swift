import LockstepJSON
import LockstepTime

/// The members of a list's elements besides the id, in order: reads them from payloads, describes
/// them, and makes and compares elements.
package struct ElementMembers: Sendable {
  /// All members.
  let all: [ShapeMember]
  /// The members that clients may change.
  let writable: [ShapeMember]
  /// The values of members that an element may lack.
  let defaults: JSONObject

  init(_ all: [ShapeMember], defaults: JSONObject = JSONObject()) {
    (self.all, self.defaults) = (all, defaults)
    writable = all.filter { !$0.isReadOnly }
  }

  // MARK: Payloads

  /// The members that a client may send, for a new element or as a patch.
  func payload(isPatch: Bool) -> [SchemaMember] {
    let ignored: JSON = ["description": "Clients may send this back unchanged. The server ignores it."]
    return all.map { member in
      if member.isReadOnly { return SchemaMember(name: member.name, schema: ignored, isRequired: false) }
      let description = member.description(isClosed: true)
      let schema = member.isRequired ? description.schema : description.schema.orNull
      return SchemaMember(name: member.name, schema: schema, isRequired: member.isRequired && !isPatch)
    }
  }

  /// Reads the members of a new element. A member that is null and not required counts as missing.
  func content(_ reader: inout PayloadReader) -> JSONObject {
    var content = JSONObject()
    for place in all.indices {
      let value = reader.value(all[place].name)
      if all[place].isReadOnly { continue }
      let faults = all[place].faults(of: value)
      if !faults.isEmpty { reader.add(faults.map { FieldFault($0.moved(under: all[place].name)) }) }
      guard let value, all[place].isRequired || !value.isNull else { continue }
      content.append(value, named: all[place].name)
    }
    return content
  }

  /// Reads the members of a patch, without a check.
  func patch(_ reader: inout PayloadReader) -> JSONObject {
    var patch = JSONObject()
    for member in all {
      if let value = reader.value(member.name), !member.isReadOnly { patch.append(value, named: member.name) }
    }
    return patch
  }

  // MARK: Elements

  /// The part of a stored element that clients may change.
  func content(of object: JSONObject) -> JSONObject {
    var content = JSONObject()
    for place in writable.indices {
      if let value = object[writable[place].name] { content.append(value, named: writable[place].name) }
    }
    return content
  }

  /// The faults of content that was not checked when it was read.
  func faults(of content: JSONObject) -> [FieldFault] { writable.faults(of: content).map(FieldFault.init) }

  /// The element with this content, which was checked. `old` is the present element with the id. The
  /// times of a present element stay.
  func element(_ id: String, _ content: JSONObject, old: JSONObject?, now: Timestamp) -> JSONObject {
    lazy var time = JSON.string(now.description)
    var object = JSONObject()
    object.reserveCapacity(all.count + 1)
    object.append(.string(id), named: "id")
    for place in all.indices {
      let name = all[place].name
      if all[place].isReadOnly {
        if let value = old?[name] {
          object.append(value, named: name)
        } else if all[place].time != nil {
          object.append(time, named: name)
        }
      } else if let value = content[name], all[place].isRequired || !value.isNull {
        object.append(value, named: name)
      } else if let value = defaults[name] {
        object.append(value, named: name)
      }
    }
    return object
  }

  /// Gives an element that other code has made the times of the present element, or the time of
  /// adding.
  func keepTimes(of old: JSONObject?, in object: inout JSONObject, now: Timestamp) {
    for place in all.indices where all[place].time != nil {
      let name = all[place].name
      if let value = old?[name] {
        set(value, name, in: &object)
      } else if all[place].time == .added {
        set(.string(now.description), name, in: &object)
      }
    }
  }

  /// The element as it is stored, with the time of the change. Nil if it does not differ from the
  /// present element, whose times it has.
  func changed(_ object: JSONObject, from old: JSONObject?, now: Timestamp) -> JSONObject? {
    if let old, object.hasSameMembers(as: old), JSON.object(object).encoded() == JSON.object(old).encoded() {
      return nil
    }
    var object = object
    for place in all.indices where all[place].time == .changed {
      set(.string(now.description), all[place].name, in: &object)
    }
    return object
  }

  /// Sets a member that the server sets, at its place among the other members.
  private func set(_ value: JSON, _ name: String, in object: inout JSONObject) {
    if object.contains(name: name) {
      object[name] = value
      return
    }
    let before = object
    object = JSONObject()
    for known in ["id"] + all.map(\.name) {
      let found: JSON? = known == name ? value : before[known]
      if let found { object.append(found, named: known) }
    }
  }
}

extension JSONObject {
  /// Whether both have the same members in the same order.
  func hasSameMembers(as other: JSONObject) -> Bool {
    count == other.count && indices.allSatisfy { other.hasMember(self[$0].name, equalTo: self[$0].value, at: $0) }
  }
}

extension FieldFault {
  init(_ fault: ValueFault) {
    self.init(pointer: JSONPointer(tokens: fault.path).description, detail: fault.detail)
  }
}
