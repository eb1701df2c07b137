import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes
import LockstepScreens
import LockstepStore
import LockstepSync

/// `/v1/admin/screens`: the open screens. Their ids here cannot be used to drive them.
package struct AdminScreenRoutes: Sendable {
  private let gate: AdministratorGate
  private let directory: ScreenDirectory
  private let clock: MonotonicTimeConverter
  private let longestWait: Int
  /// See `Watcher.lease`.
  private let lease: NodeLease?
  /// Nil: there are no other nodes.
  private let forwarder: ScreenForwarder?

  package init(
    _ gate: AdministratorGate,
    _ directory: ScreenDirectory,
    clock: MonotonicTimeConverter,
    longestWait: Int,
    lease: NodeLease? = nil,
    forwarder: ScreenForwarder? = nil
  ) {
    self.gate = gate
    self.directory = directory
    self.clock = clock
    self.longestWait = longestWait
    self.lease = lease
    self.forwarder = forwarder
  }

  package var routes: [Route] {
    [
      Route(.get, "/v1/admin/screens", summary: "Lists the open screens, oldest first.") { request in
        try gate.admit(request, .read) { _ in
          let page = try AdminPage(of: request, directory.open)
          return .response(page.response { .object(item($0, ScreenActivity($0))) })
        }
      }
      .described(
        .administration(
          "listScreens",
          parameters: AdminPages.parameters,
          responses: [AdminPages.described(.reference("OpenScreen"))],
          schemas: ["OpenScreen": Self.schema]
        )
      ),
      Route(.get, "/v1/admin/screens/{id}", summary: "Shows an open screen; can wait for a change.") { request in
        try gate.admit(request, .read) { agent in try show(request, by: agent) }
      }
      .described(
        .administration(
          "getOpenScreen",
          parameters: [RouteParameter("id", in: .path, "The screen's id in the list.", schema: .textSchema)]
            + RouteParameter.waiting + [.ifMatchOfRead, .ifNoneMatch],
          responses: [
            .shown(
              ["allOf": [.reference("OpenScreen"), .schema(["state": ["type": "object"]])]],
              fields: RouteField.validators + [.preferenceApplied]
            ), .unmodified,
          ],
          schemas: ["OpenScreen": Self.schema]
        )
      )
      .forwarding(by: forwarder),
    ]
  }

  private static let schema = JSON.schema(
    [
      "id": .textSchema, "name": .textSchema, "user": ["type": ["string", "null"]],
      "session": ["type": ["string", "null"]], "openedAt": .timeSchema, "lastUsedAt": .timeSchema,
      "watched": ["type": "boolean"], "effects": ["type": "integer", "minimum": 0],
      "failures": ["type": "integer", "minimum": 0], "cursor": .cursorSchema,
    ],
    optional: ["lastFailure": .schema(["origin": .textSchema, "message": .textSchema])]
  )

  private func item(_ screen: Screen, _ activity: ScreenActivity) -> JSONObject {
    var item: JSONObject = [
      "id": .string(screen.tag), "name": .string(screen.kind),
      "user": screen.session.map { .string("\($0.user)") } ?? .null,
      "session": screen.session.map { .string("\($0.id)") } ?? .null,
      "openedAt": .string(clock.time(of: screen.opened).description),
      "lastUsedAt": .string(clock.time(of: screen.lastUsed).description), "watched": .bool(screen.isWatched),
      "effects": .integer(Int64(activity.effects)), "failures": .integer(Int64(activity.failures.count)),
      "cursor": .string(activity.cursor),
    ]
    if let last = activity.failures.last {
      item["lastFailure"] = ["origin": .string(last.origin), "message": .string(last.message)]
    }
    return item
  }

  private func show(_ request: Request, by agent: LiveServiceToken) throws -> HandlerResult {
    guard let screen = directory.find(tag: request.parameters["id"] ?? "") else { throw Problem.noSuchScreen }
    let (query, preconditions) = (try request.query, try Preconditions(of: request.head))
    let wait = try WaitPreference(of: request, query, upTo: longestWait)
    let seen = ScreenActivity(screen).tag
    guard let wait, preconditions.ifNoneMatch != nil, wait.seconds > 0, preconditions.isFresh(seen) else {
      return .response(try response(screen, preconditions))
    }
    try checkRead(of: screen, preconditions)
    guard let seat = directory.waiters.seat(for: screen.id.exact, WaitingRequest(request, by: agent.id)) else {
      throw Problem.tooManyWaits(
        "Too many requests wait for screens already. End one of them, or send the request without “wait”."
      )
    }
    let watcher = AdminScreenWatcher(screen: screen, agent: agent, seat: seat, lease: lease, seen: seen)
    return .parked(
      LongPoll(deadline: wait.deadline(for: request), watcher) { poll, isLast in
        if agent.isEnded { throw Problem.serviceTokenEnded }
        if screen.isEnded { throw Problem.noSuchScreen }
        if !isLast, !watcher.hasChanged { return .parked(poll) }
        return .response(try response(screen, preconditions.withoutIfMatch).waited(wait))
      }
    )
  }

  private func response(_ screen: Screen, _ preconditions: Preconditions) throws(Problem) -> Response {
    let (activity, item) = shown(screen)
    try preconditions.checkRead(of: activity.tag, current: item)
    var fields = Representation.validatorFields(ofTag: activity.tag)
    if preconditions.isFresh(activity.tag) { return Response(status: .notModified, fields: fields) }
    fields.append(.contentType, "application/json")
    return Response(status: .ok, fields: fields, body: .bytes(item.encoded()))
  }

  private func checkRead(of screen: Screen, _ preconditions: Preconditions) throws(Problem) {
    guard preconditions.ifMatch != nil else { return }
    let (activity, item) = shown(screen)
    try preconditions.checkRead(of: activity.tag, current: item)
  }

  private func shown(_ screen: Screen) -> (ScreenActivity, JSON) {
    let shown = screen.engine.shown
    let activity = ScreenActivity(screen, number: shown.number)
    var item = item(screen, activity)
    var state = JSON(trusting: shown.encoded).objectValue ?? JSONObject()
    // After a login, this member has the new session's token.
    if screen.session == nil { state.removeAll { name, _ in name == "session" } }
    item["state"] = .object(state)
    return (activity, .object(item))
  }
}

/// The part of a screen whose changes end the wait of an administrator.
private struct ScreenActivity {
  let cursor: String
  let effects: Int
  let failures: ScreenFailures

  init(_ screen: Screen) { self.init(screen, number: screen.engine.number) }

  init(_ screen: Screen, number: UInt64) {
    cursor = screen.cursor(number)
    effects = screen.engine.runningEffects
    failures = screen.engine.failures
  }

  var tag: String { "\(cursor).\(effects).\(failures.count)" }
}

/// Watches a screen for an administrator. Unlike `ScreenWatcher`, it does not keep the screen open.
private struct AdminScreenWatcher: Watcher {
  let screen: Screen
  let agent: LiveServiceToken
  let seat: WaiterSeat
  let lease: NodeLease?
  /// The tag that the client has.
  let seen: String

  var isEnded: Bool { agent.isEnded || screen.isEnded }
  var hasChanged: Bool { isEnded || ScreenActivity(screen).tag != seen }
}
