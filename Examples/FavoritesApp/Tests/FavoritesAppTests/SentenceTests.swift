import FavoritesModel
import LockstepClient
import LockstepClientTesting
import Observation
import Testing

/// A server that refuses what the app sends to some paths, with a problem document.
private struct RefusingServer: ClientTransport {
  let server = FakeServer()
  let path: String
  let (status, type, title): (Int, String, String)

  init(_ path: String, _ status: Int, _ type: String, _ title: String) {
    (self.path, self.status, self.type, self.title) = (path, status, type, title)
  }

  func response(to request: ClientRequest) async throws -> ClientResponse {
    if request.target.hasPrefix(path) {
      let body = #"{"type":"/problems/\#(type)","title":"\#(title)","status":\#(status),"detail":"for developers"}"#
      return ClientResponse(status: status, body: Array(body.utf8))
    }
    if request.method == "POST", request.target == "/v1/reactors/workingHistory" {
      let state = """
        {"companyName":"","position":"","validatedCompanyName":{"kind":"empty","message":""},
        "validatedPosition":{"kind":"empty","message":""},"saveEnabled":false,"isLoading":false,"saved":0}
        """
      let body = #"{"href":"/v1/reactors/workingHistory/1","cursor":"1","state":\#(state)}"#
      return ClientResponse(status: 201, body: Array(body.utf8))
    }
    // The form does not change.
    if request.target.hasPrefix("/v1/reactors/") { try await Task.sleep(for: .seconds(86_400)) }
    return try await server.response(to: request)
  }
}

@Suite("Sentences of the app about failures", .timeLimit(.minutes(10)))
@MainActor
struct SentenceTests {
  @Test("A failure of the client has a sentence for users, and the text of another error is not shown")
  func sentences() {
    struct Broken: Error {}
    let failure = ClientFailure("The socket 7 is closed.", title: "There is no connection")
    #expect(failure.sentence == "There is no connection.")
    #expect(Broken().sentence == "Something went wrong.")
  }

  @Test("If the server refuses the app, the banner has the server's sentence for users")
  func banner() async throws {
    let server = RefusingServer("/v1/changes", 403, "forbidden", "You are not allowed to do this")
    let client = try LockstepClient(store: .memory, transport: server, credentials: MemoryCredentials("token"))
    let running = Task { await client.run() }
    for await status in client.statuses where status.connection == .failed {
      #expect(Banner(status)?.text == "You are not allowed to do this.")
      break
    }
    running.cancel()
    await running.value
  }

  @Test("If the server refuses an action of the form, the form has the server's sentence for users")
  func form() async throws {
    let server = RefusingServer("/v1/reactors/workingHistory/1/actions", 409, "conflict", "This is not possible now")
    let client = try LockstepClient(store: .memory, transport: server, credentials: MemoryCredentials("token"))
    let form = ProfileForm(client)
    let running = Task { await form.run() }
    form.save()
    while form.failure == nil {
      await withCheckedContinuation { change in
        withObservationTracking {
          _ = form.failure
        } onChange: {
          change.resume()
        }
      }
      // The change happens after this call.
      await Task.yield()
    }
    #expect(form.failure == "This is not possible now.")
    running.cancel()
    await running.value
  }
}
