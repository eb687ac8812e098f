// The headers that bear a vendor's name: <prefix>-version, <prefix>-beta and
// <prefix>-dangerous-direct-browser-access, for each prefix that the installation accepts.

interface HeaderNames {
  prefix: string;
  version: string;
  beta: string;
  browser: string;
}

export interface VendorHeaders {
  /** The first accepted prefix that the request used; `anthropic` where it used none. */
  prefix: string;
  /** Of the first prefix that has one: a version that is known; null when there is none. */
  version: string | null;
  /** Of all prefixes, joined by commas. */
  betas: string | null;
  browserDeclared: boolean;
}

// The dates of the Messages API that are in use, the newest last.
const VERSIONS = ['2023-06-01', '2026-10-21'];

/** Names are joined once for each list of the catalogue. */
const namesOfList = new WeakMap<readonly string[], HeaderNames[]>();

export function readVendorHeaders(headers: Headers, prefixes: readonly string[]): VendorHeaders {
  const read: VendorHeaders = { prefix: '', version: null, betas: null, browserDeclared: false };
  for (const names of headerNames(prefixes)) {
    const version = headers.get(names.version);
    const betas = headers.get(names.beta);
    const browser = headers.get(names.browser);
    if (version === null && betas === null && browser === null) continue;
    if (read.prefix === '') read.prefix = names.prefix;
    read.version ??= knownVersion(version);
    if (betas !== null) read.betas = read.betas === null ? betas : `${read.betas},${betas}`;
    if (browser !== null && browser.trim().toLowerCase() === 'true') read.browserDeclared = true;
  }
  if (read.prefix === '') read.prefix = 'anthropic';
  return read;
}

/** Any other date is taken as the newest: a client of a later day is refused by no provider for it. */
function knownVersion(version: string | null): string | null {
  if (version === null || version.trim() === '') return null;
  return VERSIONS.find((known) => known === version.trim()) ?? (VERSIONS.at(-1) as string);
}

function headerNames(prefixes: readonly string[]): HeaderNames[] {
  let names = namesOfList.get(prefixes);
  if (names === undefined) {
    names = prefixes.map((prefix) => ({
      prefix,
      version: `${prefix}-version`,
      beta: `${prefix}-beta`,
      browser: `${prefix}-dangerous-direct-browser-access`,
    }));
    namesOfList.set(prefixes, names);
  }
  return names;
}
