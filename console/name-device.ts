// What a browser says of itself, in a few words: enough to recognise one's own, never taken for a proof.

import { words } from './words.ts';

// In this order: most say the names of others, too.
const browsers: readonly [RegExp, string][] = [
  [/Edg(?:e|A|iOS)?\//, 'Edge'],
  [/OPR\/|Opera/, 'Opera'],
  [/SamsungBrowser\//, 'Samsung Internet'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\/|Chromium\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];
const systems: readonly [RegExp, string][] = [
  [/iPhone|iPod/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/CrOS/, 'ChromeOS'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/Linux/, 'Linux'],
];
const SHOWN_CHARACTERS_MAX = 60;

/** "Firefox on Linux"; for what is no browser, the beginning of what it says. */
export function nameDevice(userAgent: string | null | undefined): string {
  if (!userAgent) return words.profile.sessionUnknown;
  const browser = browsers.find(([shape]) => shape.test(userAgent))?.[1];
  const system = systems.find(([shape]) => shape.test(userAgent))?.[1];
  if (browser === undefined || system === undefined) return userAgent.slice(0, SHOWN_CHARACTERS_MAX);
  return words.profile.deviceOn(browser, system);
}
