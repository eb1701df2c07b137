import CLockstepZlib
import LockstepCollections
import LockstepHTTP

enum Compression {
  /// Bodies of up to this many bytes are not compressed.
  private static let threshold = 1024
  /// How many bytes to compress before the event loop serves other connections: about 1 ms of work.
  private static let slice = 64 * 1024

  /// Whether compressing the response is useful: it is long, text, and not compressed yet.
  static func applies(to response: Response) -> Bool {
    guard case .bytes(let body) = response.body, body.count > threshold else { return false }
    guard let type = response.fields[.contentType], response.fields[.contentEncoding] == nil else { return false }
    // `contains` would link the library of regular expressions, 2 MB.
    return type.hasPrefix("text/") || type.hasPrefix("application/json") || type.prefix { $0 != ";" }.hasSuffix("+json")
  }

  /// The response with its body compressed; unchanged if zlib fails.
  static func compressed(_ response: Response) async -> Response {
    guard case .bytes(let body) = response.body, let compressed = await gzip(body) else { return response }
    var response = response
    response.fields.append(.contentEncoding, "gzip")
    // The compressed bytes need a strong ETag of their own (RFC 9110, 8.8.3.3).
    if let tag = response.fields[.etag] { response.fields = response.fields.replacing(.etag, gzipTag(tag)) }
    response.body = .bytes(compressed)
    return response
  }

  /// The fields of a 304 response, with the ETag of the gzip form if the client has only that form.
  static func fieldsOfUnmodified(_ fields: HeaderFields, for head: RequestHead) -> HeaderFields {
    let ending = "\(Cursor.gzipSuffix)\"".utf8
    let namesGzip = head.withBytes(of: .ifNoneMatch) { tags in
      tags.indices.contains { tags[$0] == ending.first && tags[$0...].starts(with: ending) }
    }
    guard namesGzip == true, let tag = fields[.etag] else { return fields }
    let known = head.list(.ifNoneMatch).map { $0.hasPrefix("W/") ? String($0.dropFirst(2)) : $0 }
    return known.contains(gzipTag(tag)) && !known.contains(tag) ? fields.replacing(.etag, gzipTag(tag)) : fields
  }

  /// The ETag of the gzip form of a body with the ETag `tag`. Both include their quotes.
  private static func gzipTag(_ tag: String) -> String { "\(tag.dropLast())\(Cursor.gzipSuffix)\"" }

  /// A gzip file without name and time, so that equal bytes give equal files. Nil if zlib fails.
  static func gzip(_ bytes: [UInt8]) async -> [UInt8]? {
    guard let deflater = Deflater() else { return nil }
    var output: [UInt8] = []
    var position = 0
    while true {
      let end = min(position + slice, bytes.count)
      guard deflater.deflate(bytes[position..<end], isLast: end == bytes.count, into: &output) else { return nil }
      position = end
      guard position < bytes.count else { return output }
      await Task.yield()
    }
  }
}

private final class Deflater {
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

  init?() {
    stream.initialize(to: z_stream())
    // 15 + 16: the largest window, in a gzip frame.
    let size = Int32(MemoryLayout<z_stream>.size)
    guard deflateInit2_(stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK else {
      return nil
    }
  }

  deinit {
    // If `deflateInit2_` failed, this call only returns an error.
    deflateEnd(stream)
    stream.deallocate()
  }

  func deflate(_ bytes: ArraySlice<UInt8>, isLast: Bool, into output: inout [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { input in
      // zlib only reads its input, though the type is mutable. Both buffers outlive the calls.
      stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.pointee.avail_in = UInt32(input.count)
      var status = Z_OK
      repeat {
        output += [UInt8](unsafeUninitializedCapacity: 16 * 1024) { room, count in
          stream.pointee.next_out = room.baseAddress
          stream.pointee.avail_out = UInt32(room.count)
          status = CLockstepZlib.deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
          count = room.count - Int(stream.pointee.avail_out)
        }
        guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { return false }
      } while stream.pointee.avail_out == 0
      return !isLast || status == Z_STREAM_END
    }
  }
}
