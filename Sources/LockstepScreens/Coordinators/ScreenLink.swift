import LockstepHTTP
import LockstepReactor

/// Returns the link from the list of favorites to the photo of a row.
struct FavoritesCoordinator: Coordinator {
  func next(for route: FavoritesTopReactor.Route) -> ScreenLink? {
    switch route {
    case .photoDetail(let photoId): ScreenLink(name: "photoDetail", arguments: ["photoId": photoId])
    }
  }
}

/// A link to a screen. A client opens the screen with `POST` to `href`.
struct ScreenLink: Presentable, Equatable {
  let name: String
  var arguments: [String: String] = [:]

  var href: String {
    let query = arguments.sorted { $0.key < $1.key }.map {
      "\(PercentEncoding.text($0.key))=\(PercentEncoding.text($0.value))"
    }
    let path = "/v1/reactors/\(name)"
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }

  func present() -> String { href }
}
