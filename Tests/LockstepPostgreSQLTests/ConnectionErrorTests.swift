import Glibc
import LockstepTestSupport
import Testing

@testable import LockstepPostgreSQL

@Suite("Errors of connecting", .timeLimit(.minutes(10)))
struct ConnectionErrorTests {
  private static func error(
    _ connectionString: String,
    _ options: PostgreSQLConnection.Options = .init(),
    sourceLocation: SourceLocation = #_sourceLocation
  ) -> PostgreSQLError? {
    let error = postgreSQLError(sourceLocation: sourceLocation) {
      _ = try PostgreSQLConnection(connectionString, options: options)
    }
    for text in [error?.description, error?.message, error.map { String(reflecting: $0) }] {
      #expect(text?.contains("s3cret") == false, sourceLocation: sourceLocation)
    }
    return error
  }

  // MARK: - Without a server

  @Test(
    "A malformed string is refused, and no part of it is repeated",
    arguments: [
      ("postgres", "a word has no = after it; put a value that contains spaces into single quotes"),
      ("host=h password=a s3cret", "a word has no = after it; put a value that contains spaces into single quotes"),
      ("host=h password='s3cret", "a value's closing quote is missing"),
      ("host=h password=a s3cret=b", "it has an option that libpq does not know"),
      ("postgresql://u:%s3cret@h/db", "a % is not followed by two hexadecimal digits"),
      ("postgresql://u:a@h/db?s3cret=1", "it has an option that libpq does not know"),
      ("postgresql://u:a@h/db?s3cret", "the options after its ? are not pairs such as sslmode=require"),
      ("postgresql://u:p@[::1s3cret", "its IPv6 address is incomplete"),
      (
        "postgresql://u:a@s3cret@h/db",
        "it has an @ or a / in the wrong place; write %40 for an @ and %2F for a / in the password"
      ),
      (
        "postgres://u:1/s3cret@h/db",
        "it has an @ or a / in the wrong place; write %40 for an @ and %2F for a / in the password"
      ),
      (
        "postgres://u:s3cret/a?b=c",
        "it has an option that libpq does not know"
      ),
      (
        "postgres://u:s3cret/a",
        "the port is not a number; in the password of a URI, write %3A for a colon and %2F for a /"
      ),
      ("host=h\0", "it contains the character U+0000"),
    ]
  )
  func malformed(connectionString: String, message: String) {
    let error = Self.error(connectionString)
    #expect(error?.kind == .invalidConnectionString)
    #expect(error?.message == message)
    #expect(
      error?.description
        == "the PostgreSQL connection string is invalid: \(message). Write a URI such as "
        + "postgresql://user@host/database, or options such as host=/run/postgresql dbname=lockstep user=lockstep."
    )
  }

  @Test("A value that libpq refuses")
  func refusedValue() {
    let mode = Self.error("host=/none sslmode=sometimes password=s3cret")
    #expect(mode?.kind == .invalidConnectionString)
    #expect(mode?.message == #"invalid sslmode value: "sometimes""#)
    #expect(Self.error("host=/none port=99999 password=s3cret")?.kind == .invalidConnectionString)
    #expect(Self.error("host=a,b,c port=1,2 password=s3cret")?.kind == .invalidConnectionString)
  }

  @Test("A port without a server")
  func noServer() throws {
    let refusing = try RawServer(listens: false)
    let port = refusing.port
    let error = Self.error("postgresql://u:s3cret@127.0.0.1:\(port)/db")
    #expect(error?.kind == .cannotConnect)
    #expect(
      error?.description
        == "cannot connect to PostgreSQL: connection to server at \"127.0.0.1\", port \(port) failed: Connection refused. "
        + "Check that the server runs, and that the host and the port are right."
    )
    let several = Self.error("host=127.0.0.1,/none port=\(refusing.port) password=s3cret")
    #expect(several?.kind == .cannotConnect)
    #expect(several?.message.contains("127.0.0.1") == true)
    #expect(several?.message.contains("/none") == true)
  }

  @Test("A host without an address")
  func noHost() {
    let error = Self.error("host=lockstep.invalid user=u password=s3cret connect_timeout=60")
    #expect(error?.kind == .cannotConnect)
    #expect(error?.message.contains("lockstep.invalid") == true)
  }

  @Test("A service that does not exist")
  func noService() {
    let error = Self.error("service=no_such_service password=s3cret")
    #expect(error?.kind == .noSuchService)
    #expect(error?.message == #"definition of service "no_such_service" not found"#)
  }

  @Test("A server that accepts connections and does not respond")
  func silentServer() throws {
    let (listener, port) = try Self.listener()
    defer { close(listener) }
    var options = PostgreSQLConnection.Options()
    options.connectTimeout = .milliseconds(200)
    let error = Self.error("host=127.0.0.1 port=\(port) password=s3cret", options)
    #expect(error?.kind == .timedOut)
    #expect(
      error?.description
        == "cannot connect to PostgreSQL: the host 127.0.0.1, port \(port) did not respond within 0.2 seconds."
    )
    let start = ContinuousClock.now
    #expect(Self.error("host=127.0.0.1,localhost port=\(port)", options)?.kind == .timedOut)
    #expect(ContinuousClock.now - start >= .milliseconds(200))
    // The connection string overrides the option.
    options.connectTimeout = .seconds(3600)
    #expect(Self.error("host=127.0.0.1 port=\(port) connect_timeout=1", options)?.kind == .timedOut)
  }

  @Test("Without libpq, the error names the package")
  func missingLibrary() {
    let error = postgreSQLError { _ = try PostgreSQLLibrary(file: "libpq-missing.so.5") }
    #expect(error?.kind == .libraryMissing)
    #expect(
      error?.description
        == "cannot use libpq-missing.so.5 (Debian's package libpq5): libpq-missing.so.5: cannot open shared object file: "
        + "No such file or directory."
    )
    let other = postgreSQLError { _ = try PostgreSQLLibrary(file: "libc.so.6") }
    #expect(other?.description == "cannot use libc.so.6 (Debian's package libpq5): it has no PQconninfoParse.")
  }

  @Test("Kinds of the server's texts while connecting, in any language")
  func serverTexts() {
    let expected: [(String, PostgreSQLError.Kind, String?, String)] = [
      (
        "connection to server at \"h\", port 1 failed: FATAL:  28P01: password authentication failed for user \"u\"\n"
          + "LOCATION:  auth_failed, auth.c:338\n",
        .authentication, "28P01",
        "connection to server at \"h\", port 1 failed: FATAL:  password authentication failed for user \"u\""
      ),
      (
        "connection failed: FATAL:  3D000: Datenbank »x« existiert nicht\n", .noSuchDatabase, "3D000",
        "connection failed: FATAL:  Datenbank »x« existiert nicht"
      ),
      (
        "a failed: Connection refused\n\tIs the server running?\nb failed: FATAL:  53300: sorry\n", .tooManyConnections,
        "53300", "a failed: Connection refused; b failed: FATAL:  sorry"
      ),
      (
        "failed: FATAL:  57P03: the database system is starting up", .shutdown, "57P03",
        "failed: FATAL:  the database system is starting up"
      ),
      ("failed: fe_sendauth: no password supplied", .authentication, nil, "failed: fe_sendauth: no password supplied"),
      ("failed: session is read-only", .readOnly, nil, "failed: session is read-only"),
      ("", .cannotConnect, nil, "libpq gives no reason"),
    ]
    for (text, kind, state, message) in expected {
      let error = PostgreSQLError(connecting: text)
      #expect(error.kind == kind)
      #expect(error.sqlState == state)
      #expect(error.message == message)
    }
  }

  // MARK: - With a server

  @Test(
    "A database and a role that do not exist",
    .enabled(if: TestServer.isAvailable, TestServer.reason)
  )
  func unknownNames() {
    let server = TestServer.connectionString ?? ""
    let database = Self.error("\(server) dbname=no_such_database password=s3cret")
    #expect(database?.kind == .noSuchDatabase)
    #expect(database?.sqlState == "3D000")
    #expect(database?.description.hasSuffix("(SQLSTATE 3D000). Create the database, or name another one.") == true)
    let role = Self.error("\(server) user=no_such_role password=s3cret")
    #expect(role?.kind == .noSuchRole)
    #expect(role?.message.contains(#"role "no_such_role" does not exist"#) == true)
  }

  /// The server must ask the role lockstep_password for its password.
  @Test("A wrong or missing password", .enabled(if: TestServer.isAvailable, TestServer.reason))
  func wrongPassword() throws {
    try TestServer.connect().execute(
      """
      DROP ROLE IF EXISTS lockstep_password;
      CREATE ROLE lockstep_password LOGIN PASSWORD 'right s3cret@/'
      """
    )
    let server = TestServer.connectionString ?? ""
    let wrong = Self.error("\(server) user=lockstep_password password=s3cret")
    #expect(wrong?.kind == .authentication)
    #expect(wrong?.sqlState == "28P01")
    #expect(wrong?.description.hasSuffix("Check the user, the password and the server's pg_hba.conf.") == true)
    #expect(Self.error("\(server) user=lockstep_password passfile=/none")?.kind == .authentication)
    let right = try PostgreSQLConnection("\(server) user=lockstep_password password='right s3cret@/'")
    #expect(right.user == "lockstep_password")
    let folder = right.host.split(separator: "/").joined(separator: "%2F")
    let uri = "postgresql://lockstep_password:right%20s3cret%40%2F@/\(right.database)?host=%2F\(folder)"
    #expect(try PostgreSQLConnection(uri).user == "lockstep_password")
  }

  @Test(
    "A host that does not respond, or does not accept connections, does not keep libpq from the next one",
    .enabled(if: TestServer.isAvailable, TestServer.reason)
  )
  func nextHost() async throws {
    let (listener, port) = try Self.listener()
    defer { close(listener) }
    let known = try TestServer.connect().host
    for hosts in ["127.0.0.1,\(known)", "\(known),127.0.0.1", "127.0.0.1,127.0.0.1,\(known)"] {
      let ports = hosts.split(separator: ",").map { $0 == "127.0.0.1" ? "\(port)" : "5432" }.joined(separator: ",")
      let (host, values) = try await valueAside {
        let connection = try Self.connect("host=\(hosts) port=\(ports)")
        return (connection.host, try connection.values("SELECT 1"))
      }
      #expect(host == known && values == [.integer(1)])
    }
    let refusing = try RawServer(listens: false)
    #expect(try TestServer.connect(adding: "host=127.0.0.1,\(known) port=\(refusing.port),5432").host == known)
  }

  /// Connects to the first of several hosts that responds.
  private static func connect(_ hosts: String) throws -> PostgreSQLConnection {
    var options = PostgreSQLConnection.Options()
    options.connectTimeout = .seconds(4)
    do {
      return try TestServer.connect(adding: hosts, with: options)
    } catch let error as PostgreSQLError where error.kind == .timedOut {
      // The server itself was too slow for its share of the time.
      return try TestServer.connect(adding: hosts, with: TestServer.options)
    }
  }

  /// A socket that accepts connections, into the queue of the kernel, and never responds.
  private static func listener() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    try #require(descriptor >= 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // The kernel takes any address as `sockaddr`, with its length.
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) | listen(descriptor, 16) | getsockname(descriptor, address, &length)
      }
    }
    try #require(result == 0)
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }
}
