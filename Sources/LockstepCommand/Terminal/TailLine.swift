import LockstepComposition
import LockstepMaintenance

enum TailLine {
  /// The most characters of a payload, an id or a key.
  private static let shown = 60

  private enum Colour: String {
    case grey = "\u{1B}[90m"
    case cyan = "\u{1B}[36m"
    case yellow = "\u{1B}[33m"
    case green = "\u{1B}[32m"
  }

  /// For example `2026-11-21T05:00:00.000Z  iPad  favorites  add {"id":"photo:1"}  =>  inserted photo:1`.
  ///
  /// Text from users is escaped, so that it cannot control the terminal.
  static func text(_ entry: JournalTail.Entry, isColoured: Bool) -> String {
    func coloured(_ text: String, _ colour: Colour) -> String {
      isColoured ? "\(colour.rawValue)\(text)\u{1B}[0m" : text
    }
    let session = entry.device ?? entry.session.map { "session …\($0.suffix(8))" } ?? "-"
    let device = entry.agent.map { "by \($0)" } ?? session
    let user = entry.user.map { [Terminal.harmless(entry.address ?? "\($0)")] } ?? []
    return
      ([coloured(entry.at.description, .grey)] + user + [
        coloured(Terminal.harmless(device), .cyan),
        coloured(Terminal.harmless(entry.collection), .yellow), Terminal.harmless(action(entry.action)), "=>",
        coloured(Terminal.harmless(mutations(entry.mutations)), .green),
      ])
      .joined(separator: "  ")
  }

  /// The entry as in `GET /v1/journal`, with the device's name and the collection, escaped for
  /// terminals.
  static func json(_ entry: JournalTail.Entry) -> String {
    var object: JSONObject = [
      "cursor": .string(entry.cursor), "at": .string(entry.at.description),
      "session": entry.session.map(JSON.string) ?? .null, "device": entry.device.map(JSON.string) ?? .null,
      "collection": .string(entry.collection), "action": parsed(entry.action), "mutations": parsed(entry.mutations),
    ]
    if let user = entry.user { object["user"] = .string("\(user)") }
    if let agent = entry.agent { object["by"] = .string(agent) }
    return TerminalJSON.text(JSON.object(object).description)
  }

  private static func action(_ text: String) -> String {
    let json = parsed(text)
    guard let type = json["type"]?.stringValue else { return shortened(text) }
    let payload = json["payload"]?.description ?? ""
    return payload.isEmpty || payload == "{}" ? type : "\(type) \(shortened(payload))"
  }

  /// Each mutation's type with the id or key of its element.
  private static func mutations(_ text: String) -> String {
    let all = parsed(text).arrayValue ?? []
    let words = all.prefix(4).map { mutation -> String in
      let type = mutation["type"]?.stringValue ?? "?"
      let payload = mutation["payload"]
      let subject = payload?["id"] ?? payload?["item"]?["id"] ?? payload?["key"]
      return subject?.stringValue.map { "\(type) \(shortened($0))" } ?? type
    }
    return words.joined(separator: ", ") + (all.count > 4 ? " and \(all.count - 4) more" : "")
  }

  private static func parsed(_ text: String) -> JSON { (try? JSON(parsing: Array(text.utf8))) ?? .string(text) }

  private static func shortened(_ text: String) -> String {
    text.count > shown ? text.prefix(shown - 1) + "…" : text
  }
}
