// Models that think though nobody asked them to, and show nothing of it until their usage is told: what they may
// produce unseen has to be payable, as where a request asks for thinking. By name, whoever serves them.

const MODELS: readonly RegExp[] = [
  /^(?:o\d|codex-)/,
  /^gpt-(?:[5-9]|\d\d)(?!.*-chat)/,
  /^gemini-(?:2\.5-pro|[3-9]|\d\d)/,
  /^grok-(?:[4-9]|3-mini)/,
  /(?:reasoner|-r1\b|-thinking\b|magistral|qwq)/,
];

/** Whether the model, by its name at a provider, may do so. */
export function thinksUnasked(upstreamModel: string): boolean {
  const name = upstreamModel.toLowerCase().replace(/^ft:/, '').replace(/^.*\//, '');
  return MODELS.some((pattern) => pattern.test(name));
}
