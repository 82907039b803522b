import type { Request, Response } from "express";

/** Over HTTPS the name's prefix makes browsers insist on Secure, no Domain and the whole path: no other host can set it. */
const cookieName = (secure: boolean): string => (secure ? "__Host-session" : "session");

/** Value of the session cookie; null if the request has none. */
export function readCookie(request: Request, secure: boolean): string | null {
  const name = cookieName(secure);
  for (const pair of (request.headers.cookie ?? "").split(";")) {
    const [key, value] = pair.trim().split("=", 2);
    if (key === name && value) return value;
  }
  return null;
}

/** Sets the session cookie; a null value deletes it. */
export function setCookie(response: Response, secure: boolean, value: string | null, maxAgeSeconds: number): void {
  response.cookie(cookieName(secure), value ?? "", {
    httpOnly: true,
    sameSite: "strict",
    secure,
    path: "/",
    maxAge: value === null ? 0 : maxAgeSeconds * 1000,
  });
}
