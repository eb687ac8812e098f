// Which domains of emails may come in by sign-up and invitation: a list of denied domains, such as those of disposable mailboxes, and
// one of exceptions.

import { domainToASCII } from 'node:url';

/** In lower case, with international names in ASCII ("xn--…"); null for what is no domain. */
export function asciiDomain(text: string): string | null {
  const ascii = domainToASCII(text.trim().replace(/\.$/, '')).toLowerCase();
  return /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(ascii) ? ascii : null;
}

export interface DomainLists {
  denied: readonly string[];
  allowed: readonly string[];
}

/** Lists are those of the settings, which are immutable: each is read once. */
const setsOf = new WeakMap<readonly string[], ReadonlySet<string>>();

function setOf(list: readonly string[]): ReadonlySet<string> {
  let set = setsOf.get(list);
  if (set === undefined) {
    set = new Set(list.flatMap((text) => asciiDomain(text) ?? []));
    setsOf.set(list, set);
  }
  return set;
}

/** Whether the domain of the email, or one above it, is denied. The most specific entry of both lists decides; allowed wins a tie. */
export function isDeniedEmail(email: string, { denied, allowed }: DomainLists): boolean {
  if (denied.length === 0) return false;
  const [deniedSet, allowedSet] = [setOf(denied), setOf(allowed)];
  const labels = (asciiDomain(email.slice(email.lastIndexOf('@') + 1)) ?? '').split('.');
  for (let at = 0; at < labels.length; at++) {
    const domain = labels.slice(at).join('.');
    if (allowedSet.has(domain)) return false;
    if (deniedSet.has(domain)) return true;
  }
  return false;
}
