import LockstepCollections
import LockstepJSON

/// Decides on the actions of a map: one suite of a user's defaults, the profile, or a declared map.
package struct ValuesReactor: ModuleReactor {
  private let rules: ValueRules
  private let budget: WorkBudget?
  /// The quota of a suite. Nil if the server checks the module's quota.
  private let quota: DefaultsQuota?
  /// The registered value of a key. Clients see it while the user has not set the key.
  private let registered: @Sendable (_ key: String) -> MapValue?

  package init(
    quota: DefaultsQuota,
    budget: WorkBudget? = nil,
    registered: @escaping @Sendable (_ key: String) -> MapValue?
  ) {
    (rules, self.quota, self.budget, self.registered) = (.any, quota, budget, registered)
  }

  init(_ rules: ValueRules, _ budget: WorkBudget? = nil) {
    (self.rules, quota, self.budget, registered) = (rules, nil, budget, { _ in nil })
  }

  package func mutate(_ action: ValuesAction, in state: MapState) throws(Refusal) -> [MapMutation] {
    let mutations = try mutations(for: action, in: state)
    try checkQuota(of: mutations, in: state)
    return mutations
  }

  private func mutations(for action: ValuesAction, in state: MapState) throws(Refusal) -> [MapMutation] {
    switch action {
    // The values of `set` and `merge` were checked by the rules when the action was read.
    case .set(let key, let value): try changes(to: [(key, value)], in: state, checkedBy: nil)
    case .remove(let key): [.removed(key: try existing(key, in: state))]
    case .merge(let values):
      try changes(to: values.map { ($0.name, EncodedJSON($0.value)) }, in: state, checkedBy: nil)
    case .mergePatch(let patch): try mergePatch(patch, in: state)
    case .patch(let patch): try self.patch(state, by: patch)
    case .increment(let key, let by): try increment(key, by: by, in: state)
    case .clear: state.count == 0 ? [] : [.cleared]
    }
  }

  private func existing(_ key: String, in state: MapState) throws(Refusal) -> String {
    guard state[key] != nil else { throw .notFound("No value is set for the key “\(key)”.") }
    return key
  }

  /// The mutations that give these keys these values. Null removes a key. A key that already has
  /// its value gets no mutation, and its value is not checked.
  private func changes(
    to values: some Sequence<(String, EncodedJSON)>,
    in state: MapState,
    checkedBy rules: ValueRules?
  ) throws(Refusal) -> [MapMutation] {
    var mutations: [MapMutation] = []
    var faults: [FieldFault] = []
    for (key, value) in values {
      func add(_ fault: String, at pointer: String = "") {
        faults.append(FieldFault(pointer: JSONPointer(tokens: [key]).description + pointer, detail: fault))
      }
      if let wrong = ElementName.fault(of: key) { add(wrong) }
      if value.json.isNull {
        if state[key] != nil { mutations.append(.removed(key: key)) }
        continue
      }
      if let wrong = ValueRules.fault(ofBytes: value.encoded.count) { add(wrong) }
      guard state[key]?.encoded != value.encoded else { continue }
      for fault in rules?.check?.faults(of: value.json, budget) ?? [] { add(fault.detail, at: fault.pointer) }
      mutations.append(.set(key: key, value: value))
    }
    if !faults.isEmpty { throw .invalid(faults) }
    return mutations
  }

  private func mergePatch(_ patch: JSONObject, in state: MapState) throws(Refusal) -> [MapMutation] {
    let merged = patch.map { (name, value) -> (String, EncodedJSON) in
      // Only the keys that the patch names can change. A key with null is removed (RFC 7396).
      if value.isNull { return (name, EncodedJSON(.null)) }
      let present = state[name]
      budget?.spend(decodedBytes: present?.text.count ?? 0)
      return (name, EncodedJSON((present?.json ?? .null).mergePatched(with: value)))
    }
    return try changes(to: merged, in: state, checkedBy: rules)
  }

  /// Decodes only the values that the patch names, because a map can have megabytes.
  private func patch(_ state: MapState, by patch: PatchDocument) throws(Refusal) -> [MapMutation] {
    let present =
      patch.memberNames?.map { ElementKey($0) }.compactMap { key in state.values[key].map { (key, $0) } }
      ?? state.values.map { ($0.key, $0.value) }
    budget?.spend(bytes: present.reduce(0) { $0 + $1.1.text.count })
    if budget?.isExhausted == true { return [] }
    let document = JSON.object(JSONObject(present.map { ($0.0.text, $0.1.json) }))
    let patched = try patch.applied(to: document, budget: budget)
    guard let object = patched.objectValue else {
      throw .invalid("", "The result of the patch must be an object with keys and their values.")
    }
    let removed = present.filter { !object.contains(name: $0.0.text) }
    if let null = object.first(where: { $0.value.isNull }) {
      throw .invalid(JSONPointer(tokens: [null.name]).description, ValueRules.ofNull)
    }
    let set = try changes(to: object.map { ($0.name, EncodedJSON($0.value)) }, in: state, checkedBy: rules)
    return removed.map { .removed(key: $0.0.text) } + set
  }

  private func increment(_ key: String, by: JSON, in state: MapState) throws(Refusal) -> [MapMutation] {
    let present = (state[key] ?? registered(key))?.json ?? .integer(0)
    guard present.doubleValue != nil else {
      throw .conflict("The value of “\(key)” cannot be incremented, because it is \(present.typeName), not a number.")
    }
    guard let sum = present.adding(by) else {
      throw .conflict("The value of “\(key)” cannot be incremented by that much, because the sum would be too large.")
    }
    let faults = rules.check?.faults(of: sum, budget) ?? []
    if !faults.isEmpty { throw .invalid(faults.map { FieldFault(pointer: "/by", detail: "The sum: \($0.detail)") }) }
    return try changes(to: [(key, EncodedJSON(sum))], in: state, checkedBy: nil)
  }

  private func checkQuota(of mutations: [MapMutation], in state: MapState) throws(Refusal) {
    guard let quota else { return }
    let after = state.size(after: mutations)
    if after.count > quota.keys, after.count > state.count {
      throw .quotaExceeded("A suite may have \(quota.keys) keys, not \(after.count).")
    }
    if after.bytes > quota.bytes, after.bytes > state.bytes {
      throw .quotaExceeded("A suite may have \(quota.bytes) bytes, not \(after.bytes).")
    }
  }
}

extension JSON {
  /// The sum of two numbers. It is exact if both are whole and the sum fits into 64 bits. `nil` if
  /// the sum cannot be stored.
  fileprivate func adding(_ other: JSON) -> JSON? {
    if let left = wholeValue, let right = other.wholeValue {
      let sum = left + right
      if let exact = Int64(exactly: sum).map(JSON.integer) ?? UInt64(exactly: sum).map(JSON.unsigned) { return exact }
      // As a double, the sum would not be exact.
      if !isDouble, !other.isDouble { return nil }
    }
    guard let left = doubleValue, let right = other.doubleValue, (left + right).isFinite else { return nil }
    return JSON(left + right)
  }

  /// The number if it is a whole number of 64 bits. The sum of two such numbers cannot overflow.
  private var wholeValue: Int128? { int64Value.map { Int128($0) } ?? uint64Value.map { Int128($0) } }

  private var isDouble: Bool { if case .double = self { true } else { false } }
}
