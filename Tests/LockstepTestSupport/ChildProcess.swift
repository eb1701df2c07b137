import Glibc
import Testing

/// Starts other programs.
public enum ChildProcess {
  /// The program could not be started.
  public struct Failure: Error, CustomStringConvertible {
    /// The reason, in a sentence.
    public let description: String
  }

  /// Runs a program of the system and returns what it printed to standard output. The caller's
  /// thread is not blocked. Throws if the program does not exist or its exit status is not 0.
  public static func run(
    _ words: [String],
    input: [UInt8] = [],
    variables: [String: String] = [:]
  ) async throws -> [UInt8] {
    let folder = try TemporaryDirectory()
    try folder.write(input, to: "in")
    let script = "exec \"$0\" \"$@\" <'\(folder.file("in"))' >'\(folder.file("out"))' 2>'\(folder.file("err"))'"
    let environment = ["PATH=/usr/bin:/bin"] + variables.map { "\($0.key)=\($0.value)" }
    let id = try spawn(["/bin/sh", "-c", script] + words, environment)
    var (status, hasEnded): (Int32, Bool) = (0, false)
    // Compilers beside all other tests take minutes.
    await eventually(patience: .seconds(480)) {
      hasEnded = waitpid(id, &status, WNOHANG) == id
      return hasEnded
    }
    guard hasEnded else { throw Failure(description: "the program has not ended") }
    guard status == 0 else {
      let words = String(decoding: (try? folder.contents(of: "err")) ?? [], as: UTF8.self)
      throw Failure(description: "the program ended with status \(status): \(words)")
    }
    return try folder.contents(of: "out")
  }

  /// Starts a process that inherits neither this process's signal handling nor its descriptors,
  /// except the standard ones and one that is passed as descriptor 9. Otherwise the sockets of
  /// other tests would stay open in it.
  ///
  /// If `scripts/test --coverage` names a file for the child's coverage, the child gets its name.
  public static func spawn(
    _ words: [String],
    _ environment: [String],
    passing descriptor: Int32? = nil
  ) throws -> pid_t {
    typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32
    guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else {
      throw Failure(description: "the C library lacks posix_spawn_file_actions_addclosefrom_np")
    }
    // glibc's function has exactly this type. Swift's Glibc module does not declare it.
    let closeFrom = unsafeBitCast(symbol, to: CloseFrom.self)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    if let descriptor { posix_spawn_file_actions_adddup2(&actions, descriptor, 9) }
    _ = closeFrom(&actions, descriptor == nil ? 3 : 10)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    let profile = getenv("CHILD_PROFILE_FILE").map { ["LLVM_PROFILE_FILE=" + String(cString: $0)] } ?? []
    var variables: [UnsafeMutablePointer<CChar>?] = (environment + profile).map { strdup($0) } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, "/bin/sh", &actions, &attributes, &arguments, &variables)
    guard code == 0 else { throw Failure(description: "posix_spawn: errno \(code)") }
    return id
  }
}
