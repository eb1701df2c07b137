/// Numbers with names in a fixed order, such as `m=65536,t=3,p=4`.
struct NamedNumbers {
  let values: [Int]

  init?(_ text: Substring, names: [String]) {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard parts.count == names.count else { return nil }
    var values: [Int] = []
    for (part, name) in zip(parts, names) {
      guard part.hasPrefix(name + "="), let value = Int(digits: part.dropFirst(name.count + 1)) else { return nil }
      values.append(value)
    }
    self.values = values
  }
}
