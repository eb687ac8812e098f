// Facts about Gemini's API that its front and its provider share.

/** Google accepts this in place of an unknown thought signature, as for calls of another model. */
export const NO_THOUGHT_SIGNATURE = 'skip_thought_signature_validator';

const OF_GOOGLE = /(^|\.)(googleapis\.com|storage\.cloud\.google\.com|youtube\.com|youtu\.be)\.?$/;

/** Whether Google reads a host's URLs with the operator's rights, or as videos, which are not priced. */
export function isOfGoogle(hostname: string): boolean {
  return OF_GOOGLE.test(hostname);
}
