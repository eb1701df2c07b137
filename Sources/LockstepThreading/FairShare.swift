/// The shares of owners in places that all of them use.
enum FairShare {
  /// Whether an owner may take one more of `capacity` places. An owner, and all owners of a network
  /// together, get at most half of the places that others leave. If the owner has a network, the owner
  /// gets at most half of what the others leave of the network's half. `byNetwork` is nil without a
  /// network.
  static func hasPlace(of capacity: Int, taken: Int, byNetwork: Int?, byOwner: Int) -> Bool {
    var free = capacity - taken
    if let byNetwork { free = (free - byNetwork) / 2 }
    return byOwner < free
  }
}
