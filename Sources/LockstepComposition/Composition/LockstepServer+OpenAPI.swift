import Glibc
import LockstepHTTPServer
import LockstepMaintenance

extension LockstepServer {
  /// The body of the response to `GET /openapi.json` from a server with these modules and
  /// screens: OpenAPI 3.1, in UTF-8.
  ///
  /// The routes that it describes need a store. So this function creates an empty store in a new
  /// folder below `TMPDIR` or `/tmp`, and removes the folder before it returns. It blocks for about
  /// 100 ms. Throws `InvalidModuleError` or `InvalidScreenError` if a declaration is invalid, and
  /// other errors, such as `StoreError`, if the folder or the store cannot be created.
  public static func openAPI(
    _ configuration: Configuration = Configuration(),
    modules: [UserModule] = [],
    screens: [ScreenDeclaration] = []
  ) throws -> [UInt8] {
    let folder = try ScratchFolder()
    defer { folder.remove() }
    var configuration = configuration
    configuration.data = folder.store
    let environment = Environment(time: .system, writeLog: { _ in }, droppedLogLines: { 0 })
    let services = try Services.durable(configuration, modules: modules, screens: screens, time: environment.time)
    defer { services.shutDown() }
    let components = try Components(
      configuration,
      logger: .silent,
      environment: environment,
      services: services,
      loops: 1,
      serverCount: { _ in 0 }
    )
    defer { components.screens.shutDown() }
    return components.openAPI.document().bytes
  }
}

private struct ScratchFolder {
  private let path: String

  var store: String { "\(path)/lockstep.db" }

  /// Creates a folder that only its owner can open.
  init() throws(MaintenanceError) {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? ""
    let template = "\(parent.isEmpty ? "/tmp" : parent)/lockstep-XXXXXX"
    var bytes = Array(template.utf8CString)
    guard mkdtemp(&bytes) != nil else { throw .cannotMake(path: template, reason: errno) }
    path = String(decoding: bytes.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func remove() {
    PartialFile.removeCompanions(of: store)
    for suffix in ["", "-lock"] { unlink(store + suffix) }
    rmdir(path)
  }
}
