// The node that is asked, and as whom. The password is in this module's memory alone.

let authorization = null;

/** From now on requests are made as this role; `null` as nobody. */
export function logIn(role, password) {
  const bytes = new TextEncoder().encode(`${role}:${password}`);
  authorization = role === null ? null : `Basic ${btoa(String.fromCharCode(...bytes))}`;
}

export const isLoggedIn = () => authorization !== null;

/** What a refused request says, with its code. */
export class Refused extends Error {
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

/** The JSON of a path under /api/v1/; with a body it is posted. */
export async function ask(path, body) {
  const headers = authorization ? { Authorization: authorization } : {};
  // Without the browser's own credentials it does not put up its own window for a login either.
  const options = { headers, credentials: "omit", cache: "no-store" };
  if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const reply = await fetch(`/api/v1/${path}`, options);
  if (!reply.ok) throw new Refused(reply.status, (await reply.text()).trim());
  return reply.json();
}
