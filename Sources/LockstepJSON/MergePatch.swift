extension JSON {
  /// Applies a merge patch (RFC 7396). Objects are merged, other members are replaced, and `null`
  /// removes a member. A patch that is not an object replaces the whole value. Members keep their
  /// position, and new ones come last.
  ///
  /// Takes time in proportion to the sizes of both values. Recurses as deep as the patch, whose
  /// depth parsing limits. The result is no deeper than the deeper value.
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
        // A new value is merged into null, which removes the nulls inside the value.
        updateValue(JSON.null.mergePatched(with: member.value), named: member.name)
      }
    }
    // Removes them in one pass, because removing one by one takes quadratic time.
    if removesAny { removeAll { name, _ in patch[name]?.isNull == true } }
  }
}
