import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepRoutes
import LockstepStore
import LockstepSync

/// The routes that only the operator's socket has. They do in one transaction what the other routes of the
/// administration do one by one, and take password hashes.
package struct OperatorRoutes: Sendable {
  package static let collections = "/v1/admin/collections"
  package static let imports = "/v1/admin/imports"

  private let gate: AdministratorGate
  private let accounts: StoredAccounts
  private let ledger: AccountsLedger
  private let changeCollections: @Sendable (CollectionsWork, IdempotencyKey?) async throws -> CollectionsOutcome

  package init(
    _ gate: AdministratorGate,
    _ accounts: StoredAccounts,
    _ ledger: AccountsLedger,
    changeCollections: @escaping @Sendable (CollectionsWork, IdempotencyKey?) async throws -> CollectionsOutcome
  ) {
    (self.gate, self.accounts, self.ledger) = (gate, accounts, ledger)
    self.changeCollections = changeCollections
  }

  package var routes: [Route] {
    [
      Route(.post, Self.collections, summary: "Changes declared collections: all of them, or none.", bodyLimit: .max) {
        request in
        try gate.admit(request, .admin) { agent in
          try request.withBody { try change(collections: request, $0, by: agent) }
        }
      },
      Route(.post, Self.imports, summary: "Adds users of another system.", bodyLimit: .max) { request in
        try gate.admit(request, .users) { agent in
          try request.withBody { try add(users: request, $0, by: agent) }
        }
      },
    ]
  }

  private func change(
    collections request: Request,
    _ body: [UInt8],
    by agent: LiveServiceToken
  ) throws -> HandlerResult {
    guard let work = CollectionsWork(try JSON(readingBodyOf: request, body)) else {
      throw Problem(.validationFailed, detail: "The body is no change of declared collections.")
    }
    let key = try IdempotencyKey(of: request, body: body)
    return .making(Problem.describing) {
      // The change has several steps, so it is finished even if the command ends.
      let outcome = try await Task { try await changeCollections(work, key) }.value
      if case .refused = outcome {} else { gate.log("collections", work.names.joined(separator: ", "), agent.name) }
      return .json(outcome.json, cacheControl: "no-store")
    }
  }

  private func add(users request: Request, _ body: [UInt8], by agent: LiveServiceToken) throws -> HandlerResult {
    let users = try JSON(readingBodyOf: request, body).arrayValue?.map { ImportedUser($0) } ?? []
    let valid = users.compactMap(\.self)
    guard !valid.isEmpty, valid.count == users.count else {
      throw Problem(.validationFailed, detail: "The body must be an array of users, each with a valid e-mail address.")
    }
    let key = try IdempotencyKey(of: request, body: body).map { AccountsLedger.Key(key: $0, owner: agent.keyOwner) }
    return .making(Problem.init(accounts:)) {
      Response(
        try await ledger.commit(
          key: key,
          by: agent,
          prepare: { accounts.prepareImport(valid) },
          committed: { gate.log("import users", "\(valid.count - $0.count)", agent.name) },
          response: { taken in
            let json: JSON = ["taken": .array(taken.map { JSON($0) })]
            let response = StoredResponse(.json(json, cacheControl: "no-store"))
            return (response, recorded: response)
          },
          refusal: { _ in nil }
        )
      )
    }
  }
}
