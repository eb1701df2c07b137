import CLockstepZlib
import LockstepCollections
import LockstepHTTP

package enum Compression {
  /// Bodies of up to this many bytes are not compressed.
  private static let threshold = 1024
  /// How many bytes to compress before the event loop serves other connections: about 1 ms of work.
  private static let slice = 64 * 1024

  /// Whether to compress the response: it is text, not compressed yet, and long or a stream.
  package static func applies(to response: Response) -> Bool {
    switch response.body {
    case .none: return false
    case .bytes(let body): guard body.count > threshold else { return false }
    case .pieces, .stream: break
    }
    guard let type = response.fields[.contentType], response.fields[.contentEncoding] == nil else { return false }
    // `contains` would link the library of regular expressions, 2 MB.
    return type.hasPrefix("text/") || type.hasPrefix("application/json") || type.prefix { $0 != ";" }.hasSuffix("+json")
  }

  /// The response with its body compressed; unchanged if zlib fails. If zlib fails for a stream,
  /// the stream fails.
  ///
  /// `level` is zlib's, from 1 (fast) to 9 (small).
  package static func compressed(_ response: Response, level: Int32 = 6) async -> Response {
    guard let body = await compressed(response.body, level) else { return response }
    var response = response
    response.body = body
    response.fields.append(.contentEncoding, "gzip")
    // The compressed bytes need a strong ETag of their own (RFC 9110, 8.8.3.3).
    if let tag = response.fields[.etag] { response.fields = response.fields.replacing(.etag, gzipTag(tag)) }
    return response
  }

  private static func compressed(_ body: Response.Body, _ level: Int32) async -> Response.Body? {
    switch body {
    case .none: return nil
    case .bytes(let bytes): return await gzip(BodyPieces([bytes]), level: level).map { .bytes($0) }
    case .pieces(let pieces): return await gzip(pieces, level: level).map { .bytes($0) }
    case .stream(let holding, let write):
      return .stream(holding: holding + Deflater.memory) { writer in
        let compressing = try CompressingWriter(writer)
        try await write(compressing)
        try await compressing.finish()
      }
    }
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
  static func gzip(_ body: BodyPieces, level: Int32 = 6) async -> [UInt8]? {
    guard let deflater = Deflater(level: level) else { return nil }
    let reader = body.reader
    var (input, output) = ([UInt8](), [UInt8]())
    while true {
      input.removeAll(keepingCapacity: true)
      reader.read(upTo: slice, into: &input)
      let isLast = reader.remaining == 0
      guard deflater.deflate(input, isLast ? Z_FINISH : Z_NO_FLUSH, into: &output) else { return nil }
      if isLast { return output }
      await Task.yield()
    }
  }

  /// Compresses what a stream writes.
  private actor CompressingWriter: BodyWriter {
    private let writer: any BodyWriter
    private let deflater: Deflater

    struct DeflateError: Error {}

    init(_ writer: any BodyWriter) throws {
      guard let deflater = Deflater(level: 6) else { throw DeflateError() }
      self.writer = writer
      self.deflater = deflater
    }

    /// Compresses and flushes, so that the client can decompress all that was written so far.
    func write(_ bytes: [UInt8]) async throws {
      let reader = BodyPieces([bytes]).reader
      while reader.remaining > 0 {
        var input: [UInt8] = []
        reader.read(upTo: slice, into: &input)
        try await write(input, reader.remaining == 0 ? Z_SYNC_FLUSH : Z_NO_FLUSH)
      }
    }

    func finish() async throws { try await write([], Z_FINISH) }

    private func write(_ input: [UInt8], _ flush: Int32) async throws {
      var output: [UInt8] = []
      guard deflater.deflate(input, flush, into: &output) else { throw DeflateError() }
      if output.isEmpty { await Task.yield() } else { try await writer.write(output) }
    }
  }
}

private final class Deflater {
  /// The memory of a compression, as zlib documents it for these settings.
  static let memory = 256 * 1024 + 8 * 1024
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

  init?(level: Int32) {
    stream.initialize(to: z_stream())
    // 15 + 16: the largest window, in a gzip frame.
    let size = Int32(MemoryLayout<z_stream>.size)
    guard deflateInit2_(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK else {
      return nil
    }
  }

  deinit {
    // If `deflateInit2_` failed, this call only returns an error.
    deflateEnd(stream)
    stream.deallocate()
  }

  /// Appends what zlib writes for `bytes`. `flush` is one of zlib's constants. Returns false if zlib
  /// fails.
  func deflate(_ bytes: [UInt8], _ flush: Int32, into output: inout [UInt8]) -> Bool {
    bytes.withUnsafeBufferPointer { input in
      // zlib only reads its input, though the type is mutable. Both buffers outlive the calls.
      stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
      stream.pointee.avail_in = UInt32(input.count)
      var status = Z_OK
      repeat {
        output += [UInt8](unsafeUninitializedCapacity: 16 * 1024) { room, count in
          stream.pointee.next_out = room.baseAddress
          stream.pointee.avail_out = UInt32(room.count)
          status = CLockstepZlib.deflate(stream, flush)
          count = room.count - Int(stream.pointee.avail_out)
        }
        guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else { return false }
      } while stream.pointee.avail_out == 0
      return flush != Z_FINISH || status == Z_STREAM_END
    }
  }
}
