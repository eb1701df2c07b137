import LockstepHTTP
import LockstepScreens
import LockstepStore
import LockstepSync

extension ScreenIdempotency {
  /// Runs a write once per idempotency key. A repeated request gets the first response again.
  ///
  /// Without an owner, keys are ignored. A problem thrown by `write` is kept too, unless it is
  /// temporary.
  func once(
    _ request: Request,
    _ body: [UInt8],
    of owner: Owner?,
    at now: Int64,
    _ write: @escaping @Sendable () async throws -> Response
  ) throws -> HandlerResult {
    // A malformed key is an error even without an owner.
    let key = try IdempotencyKey(of: request, body: body)
    guard let owner, let key else { return .async { .response(try await write()) } }
    do {
      if let answer = try take(key, of: owner, at: now) {
        return .response(Response(KeyedResponse(answer: answer, isReplay: true)))
      }
    } catch {
      throw Problem.describing(error) ?? error
    }
    return .async {
      do {
        let response = try await write()
        self.settle(key, of: owner, StoredResponse(response))
        return .response(response)
      } catch {
        let refusal = (error as? Problem).flatMap {
          Self.permanent.contains($0.kind) ? StoredResponse($0.response) : nil
        }
        self.settle(key, of: owner, refusal)
        throw error
      }
    }
  }

  /// Problems that a retry with the same key would meet again.
  private static let permanent: Set<ProblemKind> = [.conflict, .preconditionFailed, .validationFailed]
}
