import LockstepHTTP
import LockstepScreens
import LockstepStore
import LockstepSync

extension ScreenIdempotency {
  /// Answers a write, and the same write again as it was answered first, where it has a key.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - body: Its body.
  ///   - owner: Whose its key is; nil: nobody's, so that it's a new request each time.
  ///   - now: The time, by the server's clock.
  ///   - write: Does it. A problem that it throws is an answer too, where it's about what was asked for and not about whether it
  ///     can be done now.
  /// - Returns: The answer.
  /// - Throws: What `write` throws; why the key can't be taken.
  func once(
    _ request: Request,
    _ body: [UInt8],
    of owner: Owner?,
    at now: Int64,
    _ write: @escaping @Sendable () async throws -> Response
  ) throws -> HandlerResult {
    // One that can't be is told, also where it would be of no use.
    let key = try IdempotencyKey(of: request, body: body)
    guard let owner, let key else { return .async { .response(try await write()) } }
    do {
      if let answer = try take(key, of: owner, at: now) {
        return .response(Response(KeyedResponse(answer: answer, isReplay: true)))
      }
    } catch {
      throw Problem.telling(of: error) ?? error
    }
    return .async {
      do {
        let response = try await write()
        self.settle(key, of: owner, StoredResponse(response))
        return .response(response)
      } catch {
        let refusal = (error as? Problem).flatMap { Self.staying.contains($0.kind) ? StoredResponse($0.response) : nil }
        self.settle(key, of: owner, refusal)
        throw error
      }
    }
  }

  /// The kinds of problems that are the answer to what was asked for.
  private static let staying: Set<ProblemKind> = [.conflict, .preconditionFailed, .validationFailed]
}
