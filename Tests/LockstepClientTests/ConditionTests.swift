import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import LockstepTime
import Testing

@testable import LockstepClient

private struct Draft: Codable, Equatable, Sendable {
  var text: String
  var tags: [String]
}

@Suite("Writes with a condition", .timeLimit(.minutes(10)))
struct ConditionTests {
  /// Two devices that have seen the same draft. The second one is offline, and the first one changes it.
  private func conflict(
    _ body: @escaping @Sendable (SyncedMap) async throws -> PendingWrite
  ) throws -> (fixture: ClientFixture, failure: ClientFailure?) {
    let fixture = try ClientFixture()
    let draft: JSON = ["text": "old", "tags": ["a"]]
    fixture.server.perform(["module": "defaults", "type": "set", "payload": ["key": "draft", "value": draft]])
    fixture.clock.advance(by: .milliseconds(20))
    fixture.server.goOffline()
    let failure = Recorded<ClientFailure>()
    fixture.clock.start { [settings = fixture.settings] in
      do { _ = try await body(settings).confirmed } catch { failure.set(ClientFailure(of: error)) }
    }
    fixture.clock.advance(by: .milliseconds(20))
    let other: JSON = ["text": "theirs", "tags": ["a", "b"]]
    fixture.server.perform(["module": "defaults", "type": "set", "payload": ["key": "draft", "value": other]])
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    return (fixture, failure.value)
  }

  @Test("If another device has changed the value, the write is refused, and the app shows the other value")
  func refused() throws {
    let (fixture, failure) = try conflict { settings in
      try await settings.set("draft", Draft(text: "mine", tags: []), ifUnchanged: true)
    }
    #expect(failure?.status == 412 && fixture.client.refusedWrites.count == 1)
    #expect(fixture.settings.value("draft") == Draft(text: "theirs", tags: ["a", "b"]))
  }

  @Test("The app can merge both values")
  func merged() throws {
    let (fixture, failure) = try conflict { settings in
      try await settings.set("draft", Draft(text: "mine", tags: ["c"])) { current, mine in
        Draft(text: mine.text, tags: (current?.tags ?? []) + mine.tags)
      }
    }
    #expect(failure == nil && fixture.client.status.pending == 0)
    let merged = Draft(text: "mine", tags: ["a", "b", "c"])
    #expect(fixture.settings.value("draft") == merged)
    #expect(fixture.server.json(of: "defaults/standard")["draft"] == ["text": "mine", "tags": ["a", "b", "c"]])
  }

  @Test("A merged write moves no later condition past a change that the later write has not seen")
  func mergedTwice() throws {
    let (fixture, failure) = try conflict { settings in
      try await settings.set("draft", Draft(text: "mine", tags: ["c"])) { current, mine in
        Draft(text: mine.text, tags: (current?.tags ?? []) + mine.tags)
      }
      return try await settings.set("draft", Draft(text: "later", tags: ["d"])) { current, mine in
        Draft(text: mine.text, tags: (current?.tags ?? []) + mine.tags)
      }
    }
    #expect(failure == nil && fixture.client.status.pending == 0)
    #expect(fixture.settings.value("draft") == Draft(text: "later", tags: ["a", "b", "c", "d"]))
  }

  @Test("If the app has nothing to write after a conflict, the client drops the write, and does not list it as refused")
  func dropped() throws {
    let (fixture, failure) = try conflict { settings in
      try await settings.set("draft", Draft(text: "mine", tags: [])) { _, _ in nil }
    }
    #expect(failure?.status == 412 && failure?.title == "This has changed in the meantime")
    #expect(fixture.client.refusedWrites.isEmpty && fixture.client.status.pending == 0)
    #expect(fixture.settings.value("draft") == Draft(text: "theirs", tags: ["a", "b"]))
  }

  @Test("If the type cannot read the other value, the write is refused, and nothing is merged")
  func unreadable() throws {
    let calls = Recorded<Bool>()
    let (fixture, failure) = try conflict { settings in
      try await settings.set("draft", 1.5) { _, _ in
        calls.set(true)
        return nil
      }
    }
    #expect(failure?.status == 412 && fixture.client.refusedWrites.count == 1 && calls.value == nil)
    #expect(fixture.settings.value("draft") == Draft(text: "theirs", tags: ["a", "b"]))
  }

  @Test("If the merged value cannot be encoded, the write is refused")
  func mergedWithoutForm() throws {
    struct Score: Codable, Sendable { var score: Double? }
    let (fixture, failure) = try conflict { settings in
      try await settings.set("draft", Score(score: 1.5)) { _, _ in Score(score: .infinity) }
    }
    #expect(failure?.status == 412 && fixture.client.refusedWrites.count == 1)
  }

  @Test("If nothing has changed, conditional writes follow one another without a conflict")
  func unchanged() throws {
    let fixture = try ClientFixture()
    fixture.add("a", title: "1")
    fixture.server.goOffline()
    fixture.clock.start { [photos = fixture.photos] in
      for title in ["2", "3", "4"] { _ = try? await photos.replace(Photo(id: "a", title: title), ifUnchanged: true) }
    }
    fixture.clock.advance(by: .milliseconds(20))
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.client.refusedWrites.isEmpty && fixture.photos.elements == [Photo(id: "a", title: "4")])
  }

  @Test("A write that changes nothing hides no change of another device from the next one")
  func withoutChange() throws {
    let fixture = try ClientFixture()
    fixture.server.perform(["module": "defaults", "type": "set", "payload": ["key": "same", "value": 1]])
    fixture.clock.advance(by: .milliseconds(20))
    fixture.server.goOffline()
    fixture.clock.advance(by: .milliseconds(20))
    fixture.clock.start { [settings = fixture.settings] in
      _ = try? await settings.set("same", 1)
      _ = try? await settings.set("theme", "mine", ifUnchanged: true)
    }
    fixture.clock.advance(by: .milliseconds(20))
    fixture.server.perform(["module": "defaults", "type": "set", "payload": ["key": "theme", "value": "theirs"]])
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.client.refusedWrites.map(\.failure.status) == [412])
    #expect(fixture.settings.value("theme") == "theirs" && fixture.client.status.pending == 0)
  }

  @Test("A confirmed write that has changed nothing is no base for a new write, also after a restart")
  func baseWithoutChange() throws {
    let (before, after) = (
      ChangesDocument.Position(cursor: "c10", revision: 10), ChangesDocument.Position(cursor: "c11", revision: 11)
    )
    func action(_ key: String) -> ClientAction {
      ClientAction(module: "defaults", type: "set", payload: ["key": .string(key), "value": 1])
    }
    for hasChanged in [true, false] {
      var outbox = Outbox()
      outbox.put(outbox.entry([action("same")], key: "k", at: Timestamp(millisecondsSince1970: 0)))
      outbox.apply(outbox.changes(confirming: 1, at: after, hasChanged: hasChanged, copy: before))
      let entry = try #require(outbox[1])
      #expect(OutboxEntry(entry.json, number: 1) == entry)
      #expect(outbox.base(for: [action("theme")], at: before) == (hasChanged ? after : before))
    }
  }

  @Test("A removal of an element that another device has changed is refused")
  func removal() throws {
    let fixture = try ClientFixture()
    fixture.add("a", title: "1")
    fixture.server.goOffline()
    fixture.clock.start { [photos = fixture.photos] in _ = try? await photos.remove("a", ifUnchanged: true) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(fixture.ids.isEmpty)
    fixture.server.perform(["module": "favorites", "type": "add", "payload": ["id": "a", "title": "theirs"]])
    fixture.server.goOnline()
    fixture.clock.advance(by: .seconds(60))
    #expect(fixture.photos.elements == [Photo(id: "a", title: "theirs")])
    #expect(fixture.client.refusedWrites.map(\.failure.status) == [412])
  }

  @Test("The profile is an object, and a save changes the members that it has")
  func profile() throws {
    let fixture = try ClientFixture()
    let profile = fixture.client.profile
    fixture.clock.start { _ = try? await profile.save(Profile(companyName: " Aurora ", position: "Chief")) }
    fixture.clock.advance(by: .milliseconds(20))
    fixture.clock.start { _ = try? await profile.save(Profile(position: "Captain"), ifUnchanged: true) }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(profile.value == Profile(companyName: "Aurora", position: "Captain"))
    #expect(fixture.server.json(of: "profile") == ["companyName": "Aurora", "position": "Captain"])
  }

  @Test("A list that was declared without code has the actions of the favorites")
  func declaredList() throws {
    struct Song: Codable, Equatable, Sendable { var name: String }
    let fixture = try ClientFixture()
    fixture.server.goOffline()
    let songs = fixture.client.list("playlist", of: ListEntry<Song>.self)
    fixture.clock.start {
      _ = try? await songs.add(ListEntry(id: "1", title: "One", data: Song(name: "Eins")))
      _ = try? await songs.update("1", with: ["title": "Two"])
    }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(songs.elements == [ListEntry(id: "1", title: "Two", data: Song(name: "Eins"))])
  }

  @Test("A transaction of no writes, or of more than 500, is refused at once")
  func size() throws {
    let fixture = try ClientFixture()
    let failures = Recorded<[String]>()
    fixture.clock.start { [client = fixture.client, settings = fixture.settings] in
      var found: [String] = []
      for count in [0, 500, 501] {
        do {
          try await client.perform { for number in 0..<count { $0.increment("\(number)", in: settings) } }
        } catch { found.append("\(error)") }
      }
      failures.set(found)
    }
    fixture.clock.advance(by: .milliseconds(20))
    #expect(failures.value?.count == 2 && failures.value?.last?.contains("501") == true)
  }
}
