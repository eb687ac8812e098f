// The public URL and the issuers of OpenID Connect, as config.ts reads them from the environment.

/** An issuer of OpenID Connect. */
export interface OidcSettings {
  /** "oidc", or "oidc-2" and so on by its number: in the path of its callback, and the source of its groups. */
  id: string;
  /** Without the path of its discovery document. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** Label of the sign-in button. */
  name: string;
  /** An email counts as verified if the issuer does not say whether it is. */
  isEmailAssumed: boolean;
  /** The email domains that it vouches for, in lower case; null: any. */
  domains: readonly string[] | null;
  /** A person whom nobody invited is created if their groups have a place for them. */
  createsPeople: boolean;
  /** The claim with the names of a person's groups. */
  groupsClaim: string;
  scopes: readonly string[];
}

type Read = (name: string) => string | null;

/** The origin, such as https://turnpike.example.com; null if it is not set. */
export function readPublicUrl(read: Read, faults: string[]): string | null {
  const text = read('TURNPIKE_PUBLIC_URL');
  if (text === null) return null;
  const url = URL.parse(text);
  const isOrigin = url !== null && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  if (isOrigin && isSafeUrl(url)) return url.origin;
  faults.push(
    'TURNPIKE_PUBLIC_URL: must be the public URL of the service, https://HOST or https://HOST:PORT without a path (http:// only for localhost)',
  );
  return null;
}

const NUMBERS = [2, 3, 4, 5, 6, 7, 8, 9];
const PREFIXES = ['OIDC', ...NUMBERS.map((number) => `OIDC_${number}`)];
const MEMBERS = [
  'ISSUER',
  'CLIENT_ID',
  'CLIENT_SECRET',
  'NAME',
  'EMAIL_VERIFIED',
  'DOMAINS',
  'PEOPLE',
  'GROUPS_CLAIM',
  'SCOPES',
] as const;

/** The settings of issuers without TURNPIKE_, those of the first one first. */
export const issuerSettings = PREFIXES.flatMap((prefix) => MEMBERS.map((member) => `${prefix}_${member}`));
/** The ids that an issuer can have. */
export const issuerIds = PREFIXES.map(idOf);

/** "oidc-2" for "OIDC_2". */
function idOf(prefix: string): string {
  return prefix.toLowerCase().replace('_', '-');
}

/** The issuers that are set, in the order of their numbers. */
export function readIssuers(read: Read, publicUrl: string | null, faults: string[]): readonly OidcSettings[] {
  const issuers = PREFIXES.flatMap((prefix) => readIssuer(prefix, read, publicUrl, faults) ?? []);
  const urls = new Set<string>();
  for (const { id, issuer, domains } of issuers) {
    const name = nameOf(id);
    if (urls.has(issuer)) faults.push(`${name}_ISSUER: is the same as that of another issuer`);
    urls.add(issuer);
    if (domains === null && issuers.length > 1)
      faults.push(`${name}_DOMAINS: must be set with several issuers: the email domains that this one vouches for`);
  }
  return Object.freeze(issuers);
}

function nameOf(id: string): string {
  return `TURNPIKE_${id.toUpperCase().replace('-', '_')}`;
}

/** Null unless the issuer is set. */
function readIssuer(
  prefix: string,
  read: Read,
  publicUrl: string | null,
  faults: string[],
): Readonly<OidcSettings> | null {
  const name = `TURNPIKE_${prefix}`;
  const of = (member: (typeof MEMBERS)[number]) => read(`${name}_${member}`);
  if (MEMBERS.every((member) => of(member) === null)) return null;
  const [issuer, clientId, clientSecret] = [of('ISSUER'), of('CLIENT_ID'), of('CLIENT_SECRET')];
  const missing = (['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET'] as const).filter((member) => of(member) === null);
  if (missing.length > 0)
    faults.push(
      `${missing.map((member) => `${name}_${member}`).join(', ')}: must be set together with the other ${name} settings`,
    );
  if (issuer !== null && !isIssuerUrl(issuer))
    faults.push(`${name}_ISSUER: must be the https:// URL of an issuer (http:// only for localhost)`);
  if (publicUrl === null && read('TURNPIKE_PUBLIC_URL') === null)
    faults.push(`TURNPIKE_PUBLIC_URL: must be set with ${name}_ISSUER, which redirects people to it`);
  const verified = readChoice(`${name}_EMAIL_VERIFIED`, of('EMAIL_VERIFIED'), ['said', 'assumed'], faults);
  const people = readChoice(`${name}_PEOPLE`, of('PEOPLE'), ['invited', 'created'], faults);
  const domains = readDomains(`${name}_DOMAINS`, of('DOMAINS'), faults);
  if (people === 'created' && of('DOMAINS') === null)
    faults.push(`${name}_DOMAINS: must be set with ${name}_PEOPLE=created: the email domains of the people to create`);
  const groupsClaim = readWord(
    `${name}_GROUPS_CLAIM`,
    of('GROUPS_CLAIM') ?? 'groups',
    CLAIM,
    'the name of a claim',
    faults,
  );
  const scopes = readWord(`${name}_SCOPES`, of('SCOPES') ?? SCOPES, SCOPE_LIST, SCOPE_WORDS, faults).split(' ');
  if (issuer === null || clientId === null || clientSecret === null) return null;
  return Object.freeze({
    ...{ id: idOf(prefix), issuer, clientId, clientSecret, name: of('NAME') ?? 'single sign-on' },
    ...{ isEmailAssumed: verified === 'assumed', createsPeople: people === 'created', domains, groupsClaim, scopes },
  });
}

const CLAIM = /^[!-~]{1,200}$/;
const SCOPES = 'openid email profile';
const SCOPE_LIST = /^(?=(?:.* )?openid(?: |$))(?=(?:.* )?email(?: |$))[!-~]{1,100}(?: [!-~]{1,100}){0,19}$/;
const SCOPE_WORDS = 'scopes with one space between them, with "openid" and "email" among them';

function readWord(name: string, text: string, pattern: RegExp, words: string, faults: string[]): string {
  if (!pattern.test(text)) faults.push(`${name}: must be ${words}`);
  return text;
}

function isIssuerUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isSafeUrl(url) && url.search === '' && url.hash === '' && url.username === '';
}

function readChoice(name: string, text: string | null, [usual, other]: [string, string], faults: string[]): string {
  if (text === null || text === usual || text === other) return text ?? usual;
  faults.push(`${name}: must be "${usual}" or "${other}"`);
  return usual;
}

const DOMAIN = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/;
const DOMAINS_MAX = 100;

/** In lower case; null: any. */
function readDomains(name: string, text: string | null, faults: string[]): readonly string[] | null {
  if (text === null) return null;
  const domains = text.split(',').map((domain) => domain.trim().toLowerCase());
  if (domains.length > DOMAINS_MAX || !domains.every((domain) => DOMAIN.test(domain)))
    faults.push(`${name}: must be at most ${DOMAINS_MAX} email domains, such as "example.com,example.org"`);
  return Object.freeze(domains);
}

/** Whether the URL has TLS, or is on this machine. */
export function isSafeUrl({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
}
