extension JSON {
  /// The value with a merge patch applied (RFC 7396): members of the patch replace or, when both sides are
  /// objects, are merged into those of the value; `null` removes; a patch that is no object replaces the
  /// whole. Members that stay keep their place, new ones come last.
  ///
  /// Takes time in proportion to the two, whatever they hold. Recurses as deep as objects are nested in
  /// the patch, which `JSONLimits` bounds for whatever was parsed; the result is no deeper than the deeper one.
  public func mergePatched(with patch: JSON) -> JSON {
    var result = self
    result.merge(patch)
    return result
  }

  fileprivate mutating func merge(_ patch: JSON) {
    guard case .object(let patchObject) = patch else {
      self = patch
      return
    }
    var target = takeObject() ?? JSONObject()
    target.merge(patchObject)
    self = .object(target)
  }
}

extension JSONObject {
  fileprivate mutating func merge(_ patch: JSONObject) {
    var removesAny = false
    for member in patch.members {
      if member.value.isNull {
        removesAny = removesAny || contains(name: member.name)
      } else if modifyValue(named: member.name, { $0.merge(member.value) }) == nil {
        // Merged into nothing, so that the nulls inside it are left out.
        updateValue(JSON.null.mergePatched(with: member.value), named: member.name)
      }
    }
    // All at once: one by one would take the square of the time.
    if removesAny { removeAll { name, _ in patch[name]?.isNull == true } }
  }
}
