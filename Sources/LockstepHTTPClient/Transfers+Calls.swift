import CLockstepCurl
import Glibc

/// Calls of libcurl for a single transfer.
extension Transfers {
  /// Starts an HTTP request. Nil if libcurl does not accept it.
  func startHTTP(_ request: TransferRequest) throws(TransferError) -> Handle? {
    guard ["http://", "https://"].contains(where: { request.url.lowercased().hasPrefix($0) }) else {
      throw TransferError(.notBegun, "The URL is neither http nor https")
    }
    return lockstep_transfer_begin(
      curl.functions,
      multi,
      request.url,
      request.type,
      request.fields,
      configuration.userAgent,
      configuration.authorities,
      request.body,
      request.body.count,
      bounds
    )
  }

  /// Starts to send a mail. The loop retains the request until the transfer has ended, so the pointer
  /// to it stays valid.
  func startMail(_ request: TransferRequest, _ mail: MailEnvelope) -> Handle? {
    Self.withOptionalCString(mail.login?.user) { user in
      Self.withOptionalCString(mail.login?.password) { password in
        mail.sender.withCString { sender in
          mail.recipient.withCString { recipient in
            lockstep_mail_begin(
              curl.functions,
              multi,
              request.url,
              lockstep_envelope(
                sender: sender,
                recipient: recipient,
                user: user,
                password: password,
                requires_tls: mail.requiresTLS ? 1 : 0,
                is_cancelled: { pointer in
                  guard let pointer else { return 0 }
                  return Unmanaged<TransferRequest>.fromOpaque(pointer).takeUnretainedValue().isCancelled ? 1 : 0
                },
                request: UnsafeRawPointer(Unmanaged.passUnretained(request).toOpaque())
              ),
              configuration.authorities,
              request.body,
              request.body.count,
              bounds
            )
          }
        }
      }
    }
  }

  private static func withOptionalCString<Result>(
    _ text: String?,
    _ body: (UnsafePointer<CChar>?) -> Result
  ) -> Result {
    guard let text else { return body(nil) }
    return text.withCString { body($0) }
  }

  private var bounds: lockstep_bounds {
    let (bounds, isPublic) = (configuration.bounds, configuration.addresses == .public)
    return lockstep_bounds(
      connect_milliseconds: Self.milliseconds(bounds.connectTime),
      total_milliseconds: Self.milliseconds(bounds.totalTime),
      response_bytes: bounds.responseBytes,
      ignores_proxies: Self.ignoresProxies(configuration) ? 1 : 0,
      cuts_body: bounds.cutsBodies ? 1 : 0,
      permits: isPublic ? { address in address.map { PublicAddresses.contain($0) } == true ? 1 : 0 } : nil
    )
  }

  static func ignoresProxies(_ configuration: HTTPClient.Configuration) -> Bool {
    !configuration.usesProxies || configuration.addresses == .public
  }

  /// At least 1, because libcurl takes 0 as no limit, and at most a day.
  private static func milliseconds(_ time: Duration) -> Int { Int(min(max(time / .milliseconds(1), 1), 86_400_000)) }

  /// The response of a transfer that has ended well.
  static func response(of handle: Handle, _ ending: lockstep_ending) -> TransferResponse {
    // The field ends with a zero byte.
    let cacheControl = withUnsafeBytes(of: handle.pointee.cache_control) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    return TransferResponse(
      status: ending.status,
      body: Array(UnsafeRawBufferPointer(start: handle.pointee.body, count: handle.pointee.body_length)),
      maxAge: TransferResponse.maxAge(in: cacheControl),
      retryAfter: ending.retry_after > 0 ? .seconds(ending.retry_after) : nil
    )
  }

  /// The error of a transfer that has failed.
  func error(of request: TransferRequest?, _ ending: lockstep_ending) -> TransferError {
    if request?.isCancelled == true { return .cancelled }
    var text = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))
    lockstep_ending_text(curl.functions, ending, &text, text.count)
    let kind = ending.is_refused_address != 0 ? .privateAddress : TransferError.Kind(ending.code)
    return TransferError(kind, CurlLibrary.text(text), status: ending.status)
  }
}

extension TransferError.Kind {
  init(_ code: CURLcode) {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: self = .name
    case CURLE_COULDNT_CONNECT: self = .connection
    case CURLE_OPERATION_TIMEDOUT, CURLE_ABORTED_BY_CALLBACK: self = .timeOut
    case CURLE_WRITE_ERROR: self = .tooLong
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_SHUTDOWN_FAILED,
      CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
      self = .encryption
    case CURLE_LOGIN_DENIED: self = .login
    case CURLE_OUT_OF_MEMORY, CURLE_URL_MALFORMAT: self = .notBegun
    default: self = .broken
    }
  }
}
