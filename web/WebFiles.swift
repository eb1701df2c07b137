/// A file of this folder, embedded in the program.
package struct WebFile: Sendable {
  /// The file's name, such as `lockstep.js`.
  package let name: String
  package let bytes: [UInt8]

  /// The JavaScript client, an ES module.
  package static let client = WebFile(name: "lockstep.js", bytes: PackageResources.lockstep_js)
  /// The types of the JavaScript client.
  package static let clientTypes = WebFile(name: "lockstep.d.ts", bytes: PackageResources.lockstep_d_ts)
}
