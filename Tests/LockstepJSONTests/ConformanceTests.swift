import LockstepJSON
import Testing

/// The cases of JSONTestSuite, with its names for them.
@Suite(.timeLimit(.minutes(10))) struct ConformanceTests {
  @Test("Text that RFC 8259 allows is accepted", arguments: accepted)
  func accepts(_ item: TextCase) {
    #expect(throws: Never.self, "\(item.name)") { try JSON(parsing: item.bytes) }
  }

  @Test("Text that RFC 8259 forbids is malformed", arguments: refused)
  func refuses(_ item: TextCase) throws {
    let error = #expect(throws: JSONParseError.self, "\(item.name)") { try JSON(parsing: item.bytes) }
    #expect(error?.isMalformed == true)
  }

  @Test("Text that RFC 8259 leaves open has a fixed result", arguments: decided)
  func decides(_ item: DecidedCase) throws {
    switch item.outcome {
    case .value(let value):
      #expect(try JSON(parsing: item.bytes) == value)
    case .error(let kind):
      let error = #expect(throws: JSONParseError.self) { try JSON(parsing: item.bytes) }
      #expect(error?.kind == kind)
    }
  }
}

struct TextCase: CustomTestStringConvertible {
  var name: String
  var bytes: [UInt8]
  var testDescription: String { name }

  init(_ name: String, _ text: String) {
    self.name = name
    bytes = Array(text.utf8)
  }

  init(_ name: String, _ bytes: [UInt8]) {
    self.name = name
    self.bytes = bytes
  }
}

struct DecidedCase: CustomTestStringConvertible {
  enum Outcome {
    case value(JSON)
    case error(JSONParseError.Kind)
  }

  var name: String
  var bytes: [UInt8]
  var outcome: Outcome
  var testDescription: String { name }

  init(_ name: String, _ text: String, _ outcome: Outcome) {
    self.init(name, Array(text.utf8), outcome)
  }

  init(_ name: String, _ bytes: [UInt8], _ outcome: Outcome) {
    self.name = name
    self.bytes = bytes
    self.outcome = outcome
  }
}

private let accepted: [TextCase] = [
  TextCase("y_array_arraysWithSpaces", "[[]   ]"),
  TextCase("y_array_empty-string", #"[""]"#),
  TextCase("y_array_empty", "[]"),
  TextCase("y_array_ending_with_newline", "[\"a\"]\n"),
  TextCase("y_array_false", "[false]"),
  TextCase("y_array_heterogeneous", #"[null, 1, "1", {}]"#),
  TextCase("y_array_null", "[null]"),
  TextCase("y_array_with_1_and_newline", "[1\n]"),
  TextCase("y_array_with_leading_space", " [1]"),
  TextCase("y_array_with_several_null", "[1,null,null,null,2]"),
  TextCase("y_array_with_trailing_space", "[2] "),
  TextCase("y_number", "[123e65]"),
  TextCase("y_number_0e+1", "[0e+1]"),
  TextCase("y_number_0e1", "[0e1]"),
  TextCase("y_number_after_space", "[ 4]"),
  TextCase(
    "y_number_double_close_to_zero",
    "[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]"
  ),
  TextCase("y_number_int_with_exp", "[20e1]"),
  TextCase("y_number_minus_zero", "[-0]"),
  TextCase("y_number_negative_int", "[-123]"),
  TextCase("y_number_negative_one", "[-1]"),
  TextCase("y_number_negative_zero", "[-0]"),
  TextCase("y_number_real_capital_e", "[1E22]"),
  TextCase("y_number_real_capital_e_neg_exp", "[1E-2]"),
  TextCase("y_number_real_capital_e_pos_exp", "[1E+2]"),
  TextCase("y_number_real_exponent", "[123e45]"),
  TextCase("y_number_real_fraction_exponent", "[123.456e78]"),
  TextCase("y_number_real_neg_exp", "[1e-2]"),
  TextCase("y_number_real_pos_exponent", "[1e+2]"),
  TextCase("y_number_simple_int", "[123]"),
  TextCase("y_number_simple_real", "[123.456789]"),
  TextCase("y_object", #"{"asd":"sdf", "dfg":"fgh"}"#),
  TextCase("y_object_basic", #"{"asd":"sdf"}"#),
  TextCase("y_object_duplicated_key", #"{"a":"b","a":"c"}"#),
  TextCase("y_object_duplicated_key_and_value", #"{"a":"b","a":"b"}"#),
  TextCase("y_object_empty", "{}"),
  TextCase("y_object_empty_key", #"{"":0}"#),
  TextCase("y_object_escaped_null_in_key", #"{"foo\u0000bar": 42}"#),
  TextCase("y_object_extreme_numbers", #"{ "min": -1.0e+28, "max": 1.0e+28 }"#),
  TextCase(
    "y_object_long_strings",
    #"{"x":[{"id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}], "id": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#
  ),
  TextCase("y_object_simple", #"{"a":[]}"#),
  TextCase("y_object_string_unicode", #"{"title":"\u041f\u043e\u043b\u0442\u043e\u0440\u0430" }"#),
  TextCase("y_object_with_newlines", "{\n\"a\": \"b\"\n}"),
  TextCase("y_string_1_2_3_bytes_UTF-8_sequences", #"["\u0060\u012a\u12AB"]"#),
  TextCase("y_string_accepted_surrogate_pair", #"["\uD801\udc37"]"#),
  TextCase("y_string_accepted_surrogate_pairs", #"["\ud83d\ude39\ud83d\udc8d"]"#),
  TextCase("y_string_allowed_escapes", #"["\"\\\/\b\f\n\r\t"]"#),
  TextCase("y_string_backslash_and_u_escaped_zero", #"["\\u0000"]"#),
  TextCase("y_string_backslash_doublequotes", #"["\""]"#),
  TextCase("y_string_comments", #"["a/*b*/c/*d//e"]"#),
  TextCase("y_string_double_escape_a", #"["\\a"]"#),
  TextCase("y_string_double_escape_n", #"["\\n"]"#),
  TextCase("y_string_escaped_control_character", #"["\u0012"]"#),
  TextCase("y_string_escaped_noncharacter", #"["\uFFFF"]"#),
  TextCase("y_string_in_array", #"["asd"]"#),
  TextCase("y_string_in_array_with_leading_space", #"[ "asd"]"#),
  TextCase("y_string_last_surrogates_1_and_2", #"["\uDBFF\uDFFF"]"#),
  TextCase("y_string_nbsp_uescaped", #"["new\u00A0line"]"#),
  TextCase("y_string_nonCharacterInUTF-8_U+10FFFF", "[\"\u{10FFFF}\"]"),
  TextCase("y_string_nonCharacterInUTF-8_U+FFFF", "[\"\u{FFFF}\"]"),
  TextCase("y_string_null_escape", #"["\u0000"]"#),
  TextCase("y_string_one-byte-utf-8", #"["\u002c"]"#),
  TextCase("y_string_pi", "[\"π\"]"),
  TextCase("y_string_reservedCharacterInUTF-8_U+1BFFF", "[\"\u{1BFFF}\"]"),
  TextCase("y_string_simple_ascii", #"["asd "]"#),
  TextCase("y_string_space", #"" ""#),
  TextCase("y_string_surrogates_U+1D11E", #"["\uD834\uDd1e"]"#),
  TextCase("y_string_three-byte-utf-8", #"["\u0821"]"#),
  TextCase("y_string_two-byte-utf-8", #"["\u0123"]"#),
  TextCase("y_string_u+2028_line_sep", "[\"\u{2028}\"]"),
  TextCase("y_string_u+2029_par_sep", "[\"\u{2029}\"]"),
  TextCase("y_string_uescaped_newline", #"["new\u000Aline"]"#),
  TextCase("y_string_unescaped_char_delete", "[\"\u{7F}\"]"),
  TextCase("y_string_unicode", #"["\uA66D"]"#),
  TextCase("y_string_unicodeEscapedBackslash", #"["\u005C"]"#),
  TextCase("y_string_unicode_2", "[\"⍂㈴⍂\"]"),
  TextCase("y_string_unicode_U+200B_ZERO_WIDTH_SPACE", #"["\u200B"]"#),
  TextCase("y_string_unicode_U+FDD0_nonchar", #"["\uFDD0"]"#),
  TextCase("y_string_unicode_escaped_double_quote", #"["\u0022"]"#),
  TextCase("y_string_utf8", "[\"€𝄞\"]"),
  TextCase("y_string_with_del_character", "[\"a\u{7F}a\"]"),
  TextCase("y_structure_lonely_false", "false"),
  TextCase("y_structure_lonely_int", "42"),
  TextCase("y_structure_lonely_negative_real", "-0.1"),
  TextCase("y_structure_lonely_null", "null"),
  TextCase("y_structure_lonely_string", #""asd""#),
  TextCase("y_structure_lonely_true", "true"),
  TextCase("y_structure_string_empty", #""""#),
  TextCase("y_structure_trailing_newline", "[\"a\"]\n"),
  TextCase("y_structure_true_in_array", "[true]"),
  TextCase("y_structure_whitespace_array", " [] "),
]

private let refused: [TextCase] = [
  TextCase("n_array_1_true_without_comma", "[1 true]"),
  TextCase("n_array_a_invalid_utf8", [0x5B, 0x61, 0xE5, 0x5D]),
  TextCase("n_array_colon_instead_of_comma", #"["": 1]"#),
  TextCase("n_array_comma_after_close", #"[""],"#),
  TextCase("n_array_comma_and_number", "[,1]"),
  TextCase("n_array_double_comma", "[1,,2]"),
  TextCase("n_array_double_extra_comma", #"["x",,]"#),
  TextCase("n_array_extra_close", #"["x"]]"#),
  TextCase("n_array_extra_comma", #"["",]"#),
  TextCase("n_array_incomplete", #"["x""#),
  TextCase("n_array_incomplete_invalid_value", "[x"),
  TextCase("n_array_inner_array_no_comma", "[3[4]]"),
  TextCase("n_array_invalid_utf8", [0x5B, 0xFF, 0x5D]),
  TextCase("n_array_items_separated_by_semicolon", "[1:2]"),
  TextCase("n_array_just_comma", "[,]"),
  TextCase("n_array_just_minus", "[-]"),
  TextCase("n_array_missing_value", #"[   , ""]"#),
  TextCase("n_array_newlines_unclosed", "[\"a\",\n4\n,1,"),
  TextCase("n_array_number_and_comma", "[1,]"),
  TextCase("n_array_number_and_several_commas", "[1,,]"),
  TextCase("n_array_spaces_vertical_tab_formfeed", "[\"\u{B}a\"\\f]"),
  TextCase("n_array_star_inside", "[*]"),
  TextCase("n_array_unclosed", #"["""#),
  TextCase("n_array_unclosed_trailing_comma", "[1,"),
  TextCase("n_array_unclosed_with_new_lines", "[1,\n1\n,1"),
  TextCase("n_array_unclosed_with_object_inside", "[{}"),
  TextCase("n_incomplete_false", "[fals]"),
  TextCase("n_incomplete_null", "[nul]"),
  TextCase("n_incomplete_true", "[tru]"),
  TextCase("n_multidigit_number_then_00", [0x31, 0x32, 0x33, 0x00]),
  TextCase("n_number_++", "[++1234]"),
  TextCase("n_number_+1", "[+1]"),
  TextCase("n_number_+Inf", "[+Inf]"),
  TextCase("n_number_-01", "[-01]"),
  TextCase("n_number_-1.0.", "[-1.0.]"),
  TextCase("n_number_-2.", "[-2.]"),
  TextCase("n_number_-NaN", "[-NaN]"),
  TextCase("n_number_.-1", "[.-1]"),
  TextCase("n_number_.2e-3", "[.2e-3]"),
  TextCase("n_number_0.1.2", "[0.1.2]"),
  TextCase("n_number_0.3e+", "[0.3e+]"),
  TextCase("n_number_0.3e", "[0.3e]"),
  TextCase("n_number_0.e1", "[0.e1]"),
  TextCase("n_number_0_capital_E+", "[0E+]"),
  TextCase("n_number_0_capital_E", "[0E]"),
  TextCase("n_number_0e+", "[0e+]"),
  TextCase("n_number_0e", "[0e]"),
  TextCase("n_number_1.0e+", "[1.0e+]"),
  TextCase("n_number_1.0e-", "[1.0e-]"),
  TextCase("n_number_1.0e", "[1.0e]"),
  TextCase("n_number_1_000", "[1 000.0]"),
  TextCase("n_number_1eE2", "[1eE2]"),
  TextCase("n_number_2.e+3", "[2.e+3]"),
  TextCase("n_number_2.e-3", "[2.e-3]"),
  TextCase("n_number_2.e3", "[2.e3]"),
  TextCase("n_number_9.e+", "[9.e+]"),
  TextCase("n_number_Inf", "[Inf]"),
  TextCase("n_number_NaN", "[NaN]"),
  TextCase("n_number_U+FF11_fullwidth_digit_one", "[１]"),
  TextCase("n_number_expression", "[1+2]"),
  TextCase("n_number_hex_1_digit", "[0x1]"),
  TextCase("n_number_hex_2_digits", "[0x42]"),
  TextCase("n_number_infinity", "[Infinity]"),
  TextCase("n_number_invalid+-", "[0e+-1]"),
  TextCase("n_number_invalid-negative-real", "[-123.123foo]"),
  TextCase("n_number_invalid-utf-8-in-bigger-int", [0x5B, 0x31, 0x32, 0x33, 0xE5, 0x5D]),
  TextCase("n_number_invalid-utf-8-in-exponent", [0x5B, 0x31, 0x65, 0x31, 0xE5, 0x5D]),
  TextCase("n_number_invalid-utf-8-in-int", [0x5B, 0x30, 0xE5, 0x5D]),
  TextCase("n_number_minus_infinity", "[-Infinity]"),
  TextCase("n_number_minus_sign_with_trailing_garbage", "[-foo]"),
  TextCase("n_number_minus_space_1", "[- 1]"),
  TextCase("n_number_neg_int_starting_with_zero", "[-012]"),
  TextCase("n_number_neg_real_without_int_part", "[-.123]"),
  TextCase("n_number_neg_with_garbage_at_end", "[-1x]"),
  TextCase("n_number_real_garbage_after_e", "[1ea]"),
  TextCase("n_number_real_without_fractional_part", "[1.]"),
  TextCase("n_number_starting_with_dot", "[.123]"),
  TextCase("n_number_with_alpha", "[1.2a-3]"),
  TextCase("n_number_with_alpha_char", "[1.8011670033376514H-308]"),
  TextCase("n_number_with_leading_zero", "[012]"),
  TextCase("n_object_bad_value", #"["x", truth]"#),
  TextCase("n_object_bracket_key", "{[: \"x\"}\n"),
  TextCase("n_object_comma_instead_of_colon", #"{"x", null}"#),
  TextCase("n_object_double_colon", #"{"x"::"b"}"#),
  TextCase("n_object_emoji", "{🇨🇭}"),
  TextCase("n_object_garbage_at_end", #"{"a":"a" 123}"#),
  TextCase("n_object_key_with_single_quotes", "{key: 'value'}"),
  TextCase("n_object_lone_continuation_byte_in_key", [0x7B, 0x22, 0xB9, 0x22, 0x3A, 0x30, 0x7D]),
  TextCase("n_object_missing_colon", #"{"a" b}"#),
  TextCase("n_object_missing_key", #"{:"b"}"#),
  TextCase("n_object_missing_semicolon", #"{"a" "b"}"#),
  TextCase("n_object_missing_value", #"{"a":"#),
  TextCase("n_object_no-colon", #"{"a""#),
  TextCase("n_object_non_string_key", "{1:1}"),
  TextCase("n_object_non_string_key_but_huge_number_instead", "{9999E9999:1}"),
  TextCase("n_object_repeated_null_null", "{null:null,null:null}"),
  TextCase("n_object_several_trailing_commas", #"{"id":0,,,,,}"#),
  TextCase("n_object_single_quote", "{'a':0}"),
  TextCase("n_object_trailing_comma", #"{"id":0,}"#),
  TextCase("n_object_trailing_comment", #"{"a":"b"}/**/"#),
  TextCase("n_object_trailing_comment_slash_open", #"{"a":"b"}//"#),
  TextCase("n_object_two_commas_in_a_row", #"{"a":"b",,"c":"d"}"#),
  TextCase("n_object_unquoted_key", #"{a: "b"}"#),
  TextCase("n_object_unterminated-value", #"{"a":"a"#),
  TextCase("n_object_with_single_string", #"{ "foo" : "bar", "a" }"#),
  TextCase("n_object_with_trailing_garbage", ##"{"a":"b"}#"##),
  TextCase("n_single_space", " "),
  TextCase("n_string_1_surrogate_then_escape", #"["\uD800\"]"#),
  TextCase("n_string_1_surrogate_then_escape_u", #"["\uD800\u"]"#),
  TextCase("n_string_1_surrogate_then_escape_u1", #"["\uD800\u1"]"#),
  TextCase("n_string_1_surrogate_then_escape_u1x", #"["\uD800\u1x"]"#),
  TextCase("n_string_accentuated_char_no_quotes", "[é]"),
  TextCase("n_string_backslash_00", [0x5B, 0x22, 0x5C, 0x00, 0x22, 0x5D]),
  TextCase("n_string_escape_x", #"["\x00"]"#),
  TextCase("n_string_escaped_backslash_bad", #"["\\\"]"#),
  TextCase("n_string_escaped_ctrl_char_tab", "[\"\\\t\"]"),
  TextCase("n_string_escaped_emoji", "[\"\\🌀\"]"),
  TextCase("n_string_incomplete_escape", #"["\"]"#),
  TextCase("n_string_incomplete_escaped_character", #"["\u00A"]"#),
  TextCase("n_string_incomplete_surrogate", #"["\uD834\uDd"]"#),
  TextCase("n_string_incomplete_surrogate_escape_invalid", #"["\uD800\uD800\x"]"#),
  TextCase("n_string_invalid-utf-8-in-escape", [0x5B, 0x22, 0x5C, 0x75, 0xE5, 0x22, 0x5D]),
  TextCase("n_string_invalid_backslash_esc", #"["\a"]"#),
  TextCase("n_string_invalid_unicode_escape", #"["\uqqqq"]"#),
  TextCase("n_string_invalid_utf8_after_escape", [0x5B, 0x22, 0x5C, 0xE5, 0x22, 0x5D]),
  TextCase("n_string_leading_uescaped_thinspace", #"[\u0020"asd"]"#),
  TextCase("n_string_no_quotes_with_bad_escape", #"[\n]"#),
  TextCase("n_string_single_doublequote", "\""),
  TextCase("n_string_single_quote", "['single quote']"),
  TextCase("n_string_single_string_no_double_quotes", "abc"),
  TextCase("n_string_start_escape_unclosed", #"["\"#),
  TextCase("n_string_unescaped_ctrl_char", "[\"a\u{0}a\"]"),
  TextCase("n_string_unescaped_newline", "[\"new\nline\"]"),
  TextCase("n_string_unescaped_tab", "[\"\t\"]"),
  TextCase("n_string_unicode_CapitalU", #""\UA66D""#),
  TextCase("n_string_with_trailing_garbage", #"""x"#),
  TextCase("n_structure_100000_opening_arrays", Array(repeating: 0x5B, count: 100_000)),
  TextCase("n_structure_U+2060_word_joined", "[\u{2060}]"),
  TextCase("n_structure_UTF8_BOM_no_data", [0xEF, 0xBB, 0xBF]),
  TextCase("n_structure_angle_bracket_.", "<.>"),
  TextCase("n_structure_angle_bracket_null", "[<null>]"),
  TextCase("n_structure_array_trailing_garbage", "[1]x"),
  TextCase("n_structure_array_with_extra_array_close", "[1]]"),
  TextCase("n_structure_array_with_unclosed_string", #"["asd]"#),
  TextCase("n_structure_ascii-unicode-identifier", "aå"),
  TextCase("n_structure_capitalized_True", "[True]"),
  TextCase("n_structure_close_unopened_array", "1]"),
  TextCase("n_structure_comma_instead_of_closing_brace", #"{"x": true,"#),
  TextCase("n_structure_double_array", "[][]"),
  TextCase("n_structure_end_array", "]"),
  TextCase("n_structure_incomplete_UTF8_BOM", [0xEF, 0xBB, 0x7B, 0x7D]),
  TextCase("n_structure_lone-invalid-utf-8", [0xE5]),
  TextCase("n_structure_lone-open-bracket", "["),
  TextCase("n_structure_no_data", ""),
  TextCase("n_structure_null-byte-outside-string", [0x5B, 0x00, 0x5D]),
  TextCase("n_structure_number_with_trailing_garbage", "2@"),
  TextCase("n_structure_object_followed_by_closing_object", "{}}"),
  TextCase("n_structure_object_unclosed_no_value", #"{"":"#),
  TextCase("n_structure_object_with_comment", #"{"a":/*comment*/"b"}"#),
  TextCase("n_structure_object_with_trailing_garbage", #"{"a": true} "x""#),
  TextCase("n_structure_open_array_apostrophe", "['"),
  TextCase("n_structure_open_array_comma", "[,"),
  TextCase("n_structure_open_array_object", Array(repeatElement(Array("[{\"\":".utf8), count: 50_000).joined())),
  TextCase("n_structure_open_array_open_object", "[{"),
  TextCase("n_structure_open_array_open_string", #"["a"#),
  TextCase("n_structure_open_array_string", #"["a""#),
  TextCase("n_structure_open_object", "{"),
  TextCase("n_structure_open_object_close_array", "{]"),
  TextCase("n_structure_open_object_comma", "{,"),
  TextCase("n_structure_open_object_open_array", "{["),
  TextCase("n_structure_open_object_open_string", #"{"a"#),
  TextCase("n_structure_open_object_string_with_apostrophes", "{'a'"),
  TextCase("n_structure_open_open", #"["\{["\{["\{["\{"#),
  TextCase("n_structure_single_eacute", [0xE9]),
  TextCase("n_structure_single_star", "*"),
  TextCase("n_structure_trailing_#", ##"{"a":"b"}#{}"##),
  TextCase("n_structure_uescaped_LF_before_string", #"[\u000A""]"#),
  TextCase("n_structure_unclosed_array", "[1"),
  TextCase("n_structure_unclosed_array_partial_null", "[ false, nul"),
  TextCase("n_structure_unclosed_array_unfinished_false", "[ true, fals"),
  TextCase("n_structure_unclosed_array_unfinished_true", "[ false, tru"),
  TextCase("n_structure_unclosed_object", #"{"asd":"asd""#),
  TextCase("n_structure_unicode-identifier", "å"),
  TextCase("n_structure_whitespace_U+2060_word_joiner", "\u{2060}"),
  TextCase("n_structure_whitespace_formfeed", "[\u{C}]"),
]

private let decided: [DecidedCase] = [
  DecidedCase("i_number_double_huge_neg_exp", "[123.456e-789]", .error(.numberOutOfRange)),
  DecidedCase("i_number_huge_exp", "[0.4e00669999999999999999999999999999999969999999006]", .error(.numberOutOfRange)),
  DecidedCase("i_number_neg_int_huge_exp", "[-1e+9999]", .error(.numberOutOfRange)),
  DecidedCase("i_number_pos_double_huge_exp", "[1.5e+9999]", .error(.numberOutOfRange)),
  DecidedCase("i_number_real_neg_overflow", "[-123123e100000]", .error(.numberOutOfRange)),
  DecidedCase("i_number_real_underflow", "[123e-10000000]", .error(.numberOutOfRange)),
  DecidedCase("i_number_too_big_neg_int", "[-123123123123123123123123123123]", .error(.numberOutOfRange)),
  DecidedCase("i_number_too_big_pos_int", "[100000000000000000000]", .error(.numberOutOfRange)),
  DecidedCase("i_number_zero_huge_exp", "[0e99999999999999999999999999999]", .value([0.0])),
  DecidedCase("i_object_key_lone_2nd_surrogate", #"{"\uDFAA":0}"#, .error(.loneSurrogate)),
  DecidedCase("i_string_1st_surrogate_but_2nd_missing", #"["\uDADA"]"#, .error(.loneSurrogate)),
  DecidedCase("i_string_1st_valid_surrogate_2nd_invalid", #"["\uD888\u1234"]"#, .error(.loneSurrogate)),
  DecidedCase("i_string_UTF-16LE_with_BOM", [0xFF, 0xFE, 0x5B, 0, 0x5D, 0], .error(.byteOrderMark)),
  DecidedCase(
    "i_string_UTF-8_invalid_sequence",
    [0x22, 0xE6, 0x97, 0xA5, 0xD1, 0x88, 0xFA, 0x22],
    .error(.invalidUTF8)
  ),
  DecidedCase("i_string_UTF8_surrogate_U+D800", [0x22, 0xED, 0xA0, 0x80, 0x22], .error(.invalidUTF8)),
  DecidedCase("i_string_incomplete_surrogate_pair", #"["\uDd1ea"]"#, .error(.loneSurrogate)),
  DecidedCase("i_string_incomplete_surrogates_escape_valid", #"["\uD800\uD800\n"]"#, .error(.loneSurrogate)),
  DecidedCase("i_string_invalid_surrogate", #"["\ud800abc"]"#, .error(.loneSurrogate)),
  DecidedCase("i_string_inverted_surrogates_U+1D11E", #"["\uDd1e\uD834"]"#, .error(.loneSurrogate)),
  DecidedCase("i_string_iso_latin_1", [0x22, 0xE9, 0x22], .error(.invalidUTF8)),
  DecidedCase("i_string_not_in_unicode_range", [0x22, 0xF4, 0xBF, 0xBF, 0xBF, 0x22], .error(.invalidUTF8)),
  DecidedCase("i_string_overlong_sequence_2_bytes", [0x22, 0xC0, 0xAF, 0x22], .error(.invalidUTF8)),
  DecidedCase("i_string_overlong_sequence_3_bytes", [0x22, 0xE0, 0x80, 0xAF, 0x22], .error(.invalidUTF8)),
  DecidedCase("i_string_overlong_sequence_4_bytes", [0x22, 0xF0, 0x80, 0x80, 0xAF, 0x22], .error(.invalidUTF8)),
  DecidedCase(
    "i_string_overlong_sequence_6_bytes",
    [0x22, 0xFC, 0x83, 0xBF, 0xBF, 0xBF, 0xBF, 0x22],
    .error(.invalidUTF8)
  ),
  DecidedCase("i_string_truncated-utf-8", [0x22, 0xE0, 0xFF, 0x22], .error(.invalidUTF8)),
  DecidedCase("truncated in the text", [0x22, 0xF0, 0x9F, 0x8C], .error(.invalidUTF8)),
  DecidedCase("i_structure_500_nested_arrays", String(repeating: "[", count: 500), .error(.depthExceeded)),
  DecidedCase("i_structure_UTF-8_BOM_empty_object", [0xEF, 0xBB, 0xBF, 0x7B, 0x7D], .error(.byteOrderMark)),
]
