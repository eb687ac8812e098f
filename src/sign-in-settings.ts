// Where people reach the service, and the issuer of single sign-on, as config.ts reads them from the environment.

/** An issuer of OpenID Connect. */
export interface OidcSettings {
  /** Without the path of its discovery document. */
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** What the button says. */
  name: string;
  /** An e-mail of which the issuer says neither that it verified it nor that it did not is taken for verified. */
  isEmailAssumed: boolean;
}

type Read = (name: string) => string | null;

/** The origin, such as https://turnpike.example.com; null where it is not said. */
export function readPublicUrl(read: Read, faults: string[]): string | null {
  const text = read('TURNPIKE_PUBLIC_URL');
  if (text === null) return null;
  const url = URL.parse(text);
  const isOrigin = url !== null && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  if (isOrigin && isSafe(url)) return url.origin;
  faults.push(
    'TURNPIKE_PUBLIC_URL: must be where people reach the service, https://HOST or https://HOST:PORT without a path (http:// only for this machine)',
  );
  return null;
}

/** Null unless an issuer is named. */
export function readOidc(read: Read, publicUrl: string | null, faults: string[]): OidcSettings | null {
  const names = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET'].map((name) => `TURNPIKE_OIDC_${name}`);
  const [issuer = null, clientId = null, clientSecret = null] = names.map(read);
  const others = ['NAME', 'EMAIL_VERIFIED'].map((name) => read(`TURNPIKE_OIDC_${name}`));
  if ([issuer, clientId, clientSecret, ...others].every((text) => text === null)) return null;
  const missing = names.filter((name) => read(name) === null);
  if (missing.length > 0) faults.push(`${missing.join(', ')}: must be given with the other settings of TURNPIKE_OIDC`);
  const url = issuer === null ? null : URL.parse(issuer);
  if (issuer !== null && (url === null || !isSafe(url) || url.search !== '' || url.hash !== '' || url.username !== ''))
    faults.push('TURNPIKE_OIDC_ISSUER: must be the https:// address of an issuer (http:// only for this machine)');
  if (publicUrl === null && read('TURNPIKE_PUBLIC_URL') === null)
    faults.push('TURNPIKE_PUBLIC_URL: must be given with TURNPIKE_OIDC_ISSUER, which leads people back there');
  const [name, verified] = [others[0] ?? 'single sign-on', others[1] ?? 'said'];
  if (verified !== 'said' && verified !== 'assumed')
    faults.push('TURNPIKE_OIDC_EMAIL_VERIFIED: must be said or assumed');
  if (issuer === null || clientId === null || clientSecret === null) return null;
  return Object.freeze({ issuer, clientId, clientSecret, name, isEmailAssumed: verified === 'assumed' });
}

function isSafe({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(hostname);
}
