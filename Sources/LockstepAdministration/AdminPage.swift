import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes

/// A page of a list that is only in memory: `?limit=` and `?after=`, the number of items before it.
struct AdminPage<Item> {
  private let items: ArraySlice<Item>
  private let count: Int
  private let next: String?

  init(of request: Request, _ all: [Item]) throws(Problem) {
    let query = try request.query
    let limit = try query.integer("limit", in: 1...AdminPages.most) ?? 100
    let start = min(all.count, try query.integer("after", in: 0...AdminPages.last) ?? 0)
    let end = start + min(limit, all.count - start)
    items = all[start..<end]
    count = all.count
    next = end < all.count ? "<\(request.head.path)?limit=\(limit)&after=\(end)>; rel=\"next\"" : nil
  }

  func response(_ encode: (Item) -> JSON) -> Response {
    let body: JSON = ["items": .array(items.map(encode)), "count": .integer(Int64(count))]
    var response = Response.json(body, cacheControl: "no-store")
    if let next { response.fields.append(.link, next) }
    return response
  }
}

enum AdminPages {
  static let most = 1_000
  static let last = 1_000_000_000

  static let parameters = [
    RouteParameter(
      "limit",
      in: .query,
      "The most items in a page. If there are more, the response field Link refers to the next page.",
      schema: ["type": "integer", "minimum": 1, "maximum": JSON(most), "default": 100]
    ),
    RouteParameter(
      "after",
      in: .query,
      "How many items to leave out at the beginning.",
      schema: ["type": "integer", "minimum": 0, "maximum": JSON(last)]
    ),
  ]

  static func described(_ item: JSON) -> RouteResponse {
    RouteResponse(
      .ok,
      "The page, and the number of all items.",
      fields: [.cacheControl, .link],
      json: .schema(["items": .arraySchema(of: item), "count": ["type": "integer", "minimum": 0]])
    )
  }
}
