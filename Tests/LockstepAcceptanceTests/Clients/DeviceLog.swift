import LockstepJSON
import LockstepTestSupport

/// The part of the user's favorites that one device writes, according to the commands that have returned.
struct DeviceLog {
  /// Photos with their titles, and the counters of their openings.
  struct Part: Equatable {
    var titles: [String: String] = [:]
    var openings: [String: Int] = [:]
  }

  fileprivate enum Change {
    case add(id: String, title: String)
    case rename(id: String, title: String)
    case delete(id: String)
    case open(id: String)
    case move(id: String, index: Int)
  }

  /// The beginning of the ids of this device's photos.
  let prefix: String
  /// The part after all commands that have returned.
  private(set) var certain = Part()
  /// The changes that were sent and have not returned.
  private var outstanding: [Change] = []
  /// The part after all commands that were sent.
  private var latest = Part()
  private var number = 0

  init(prefix: String) { self.prefix = prefix }

  /// A random command. It is noted as sent.
  mutating func next(_ random: inout SeededNumbers) -> String {
    number += 1
    let id = "\(prefix)\(random.below(6))"
    let change: Change
    switch latest.titles[id] == nil ? 0 : random.below(10) {
    case 0: change = .add(id: id, title: "t\(number)")
    case 1: change = .rename(id: id, title: "t\(number)")
    case 2: change = .delete(id: id)
    case 3: change = .move(id: id, index: random.below(10))
    default: change = .open(id: id)
    }
    latest.apply(change)
    outstanding.append(change)
    return change.line
  }

  /// Notes that the first commands have returned.
  mutating func noteReturned(_ count: Int) {
    for change in outstanding.prefix(count) { certain.apply(change) }
    outstanding.removeFirst(count)
  }

  /// Takes over what was found after the process was killed. Returns false if it cannot be: everything that has
  /// returned must be there, once, and of the commands after that the first ones, in order.
  mutating func settle(_ found: Part) -> Bool {
    var possible = certain
    var isPossible = possible == found
    for change in outstanding {
      possible.apply(change)
      isPossible = isPossible || possible == found
    }
    (certain, latest, outstanding) = (found, found, [])
    return isPossible
  }

  /// This device's part of a list that the example has printed: `index id openings title`.
  func part(of lines: [String]) -> Part {
    var part = Part()
    for line in lines {
      let words = line.split(separator: " ").map(String.init)
      guard words.count == 4, words[1].hasPrefix(prefix) else { continue }
      part.titles[words[1]] = words[3]
      if let count = Int(words[2]), count > 0 { part.openings[words[1]] = count }
    }
    return part
  }
}

extension DeviceLog.Part {
  fileprivate mutating func apply(_ change: DeviceLog.Change) {
    switch change {
    case .add(let id, let title), .rename(let id, let title): titles[id] = title
    case .delete(let id): (titles[id], openings[id]) = (nil, nil)
    case .open(let id): openings[id, default: 0] += 1
    case .move: break
    }
  }
}

extension DeviceLog.Change {
  fileprivate var line: String {
    switch self {
    case .add(let id, let title): "add \(id) \(title)"
    case .rename(let id, let title): "rename \(id) \(title)"
    case .delete(let id): "delete \(id)"
    case .open(let id): "open \(id)"
    case .move(let id, let index): "move \(id) \(index)"
    }
  }
}
