import { describe, expect, it } from "vitest";
import { EndpointRefused, parseEndpoint } from "../../../api/outbound/endpoint.ts";

const parse = (url: string, allowLocal = false) => parseEndpoint(url, { allowLocal });

describe("the URL of an endpoint", () => {
  it.each([
    "https://example.com/hook",
    "https://example.com:8443/a?b=c",
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
  ])("%s is accepted", (url) => {
    expect(parse(url).href).toBe(url);
  });

  it.each([
    ["nonsense", /must be a URL/],
    ["http://example.com/", /https/],
    ["ftp://example.com/", /https/],
    ["file:///etc/passwd", /https/],
    ["https://user:secret@example.com/", /user name/],
    ["https://localhost/", /local name/],
    ["https://LOCALHOST./", /local name/],
    ["https://a.localhost/", /local name/],
    ["https://printer.local/", /local name/],
    ["https://metadata.google.internal/", /local name/],
    ["https://127.0.0.1/", /127\.0\.0\.1/],
    // Decimal, octal, hexadecimal, short and full-width forms of loopback and metadata.
    ["https://2130706433/", /127\.0\.0\.1/],
    ["https://0177.0.0.1/", /127\.0\.0\.1/],
    ["https://0x7f000001/", /127\.0\.0\.1/],
    ["https://0x7f.1/", /127\.0\.0\.1/],
    ["https://127.1/", /127\.0\.0\.1/],
    ["https://0/", /0\.0\.0\.0/],
    ["https://2852039166/", /169\.254\.169\.254/],
    ["https://１２７.０.０.１/", /127\.0\.0\.1/],
    ["https://127.0.0.1./", /127\.0\.0\.1/],
    ["https://[::1]/", /::1/],
    ["https://[::ffff:127.0.0.1]/", /::ffff:7f00:1/],
    ["https://[64:ff9b::a00:1]/", /64:ff9b::a00:1/],
    ["https://[fe80::1]/", /link-local/],
  ])("%s is refused", (url, why) => {
    expect(() => parse(url)).toThrow(EndpointRefused);
    expect(() => parse(url)).toThrow(why);
  });

  it("development allows loopback and plain HTTP there, but no private network", () => {
    for (const url of [
      "http://localhost:3000/hook",
      "http://127.0.0.1:3000/",
      "http://[::ffff:127.0.0.1]/",
      "https://[::1]/",
      "https://example.com/",
    ]) {
      expect(parse(url, true).href).toBe(new URL(url).href);
    }
    for (const url of ["http://example.com/", "http://8.8.8.8/", "http://127.0.0.1.example.com/"]) {
      expect(() => parse(url, true)).toThrow(/must be an https URL/);
    }
    for (const url of ["http://10.0.0.1/", "http://169.254.169.254/latest", "ftp://127.0.0.1/", "http://nas.local/"]) {
      expect(() => parse(url, true)).toThrow(EndpointRefused);
    }
  });
});
