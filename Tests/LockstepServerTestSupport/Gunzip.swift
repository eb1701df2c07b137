import CLockstepZlib

struct ZlibFailed: Error { let status: Int32 }

/// Decompresses a gzip file with zlib. The file must end where the bytes end.
func gunzipped(_ bytes: [UInt8]) throws -> [UInt8] {
  var input = bytes
  var output = [UInt8](repeating: 0, count: 16 * 1024 * 1024)
  return try input.withUnsafeMutableBufferPointer { input in
    var stream = z_stream()
    stream.next_in = input.baseAddress
    stream.avail_in = UInt32(input.count)
    var status = inflateInit2_(&stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { throw ZlibFailed(status: status) }
    defer { inflateEnd(&stream) }
    output.withUnsafeMutableBufferPointer { output in
      stream.next_out = output.baseAddress
      stream.avail_out = UInt32(output.count)
      status = inflate(&stream, Z_FINISH)
    }
    guard status == Z_STREAM_END, stream.avail_in == 0 else { throw ZlibFailed(status: status) }
    return Array(output[..<Int(stream.total_out)])
  }
}
