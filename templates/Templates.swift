/// The files of this folder that commands print, embedded in the program.
package enum Templates {
  /// The end of each file of generated Swift types.
  package static let jsonValue = PackageResources.JSONValue_swift
}
