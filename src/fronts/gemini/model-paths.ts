// Paths of models in Gemini's API, and the header of its keys.

export const KEY_HEADER = 'x-goog-api-key';
/** Some SDKs use the stable version of the path, of which other protocols have the lists, too. */
export const MODELS = /^\/v1(?:beta)?\/models(?:\/(.+))?$/;
export const METHOD = /^(.+):([a-zA-Z]+)$/;

/** Names may have the "models/" of Google's lists. */
export function plainModel(name: string): string {
  return name.replace(/^models\//, '');
}
