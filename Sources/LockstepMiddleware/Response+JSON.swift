import LockstepHTTP
import LockstepJSON

extension Response {
  /// An answer of JSON that may be kept and asked for again, but not used without asking.
  package static func json(_ value: JSON, status: Status = .ok, cacheControl: String = "no-cache") -> Response {
    var fields = HeaderFields()
    fields.append(.contentType, "application/json")
    fields.append(.cacheControl, cacheControl)
    fields.append(contentsOf: .forBrowsers)
    return Response(status: status, fields: fields, body: .bytes(value.encoded()))
  }
}
