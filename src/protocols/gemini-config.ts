// Members of Gemini's generationConfig by their names in Messages, and in the provider kinds that have fields of the front.

export const GEMINI_CONFIG = {
  maxOutputTokens: 'max_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  stopSequences: 'stop_sequences',
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  seed: 'seed',
} as const;
