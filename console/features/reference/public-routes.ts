// The operations of the public API, by the protocol of their clients.

export interface PublicRoute {
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  text: string;
}

const post = (path: string, text: string): PublicRoute => ({ method: 'POST', path, text });
const get = (path: string, text: string): PublicRoute => ({ method: 'GET', path, text });

export const publicRoutes: readonly (readonly [protocol: string, routes: readonly PublicRoute[]])[] = [
  [
    'Anthropic',
    [
      post('/v1/messages', 'Sends a message. With "stream": true the response is streamed.'),
      post('/v1/messages/count_tokens', 'Counts the tokens of a message, free of charge.'),
      post('/v1/messages/batches', 'Creates a batch of messages. GET lists batches.'),
    ],
  ],
  [
    'OpenAI',
    [
      post('/v1/chat/completions', 'Sends a message in the format of Chat Completions.'),
      post('/v1/responses', 'Sends a message in the format of Responses.'),
      post('/v1/completions', 'Completes a prompt.'),
      post('/v1/embeddings', 'Converts texts to vectors.'),
      post('/v1/images/generations', 'Generates images.'),
      post('/v1/images/edits', 'Edits images.'),
      post('/v1/audio/speech', 'Converts text to speech.'),
      post('/v1/audio/transcriptions', 'Converts speech to text.'),
      post('/v1/audio/translations', 'Converts speech to English text.'),
      post('/v1/moderations', 'Classifies texts and images.'),
      post('/v1/batches', 'Creates a batch of a file.'),
    ],
  ],
  [
    'Gemini',
    [
      post('/v1beta/models/{model}:generateContent', 'Sends a message. streamGenerateContent streams the response.'),
      post('/v1beta/models/{model}:countTokens', 'Counts the tokens of a message, free of charge.'),
      post('/v1beta/models/{model}:embedContent', 'Converts a text to a vector. batchEmbedContents converts several.'),
      post('/v1beta/models/{model}:predict', 'Generates images.'),
    ],
  ],
  ['Cohere and Jina', [post('/v1/rerank', 'Sorts documents by their relevance to a query.')]],
  [
    'All clients',
    [
      get('/v1/models', 'Lists the models that the key can use.'),
      get('/v1/models/{id}', 'Returns one model.'),
      post('/v1/files', 'Uploads a file. GET lists files.'),
      get('/v1/files/{id}/content', 'Returns the content of a file.'),
      { method: 'DELETE', path: '/v1/files/{id}', text: 'Deletes a file.' },
      get('/v1/key', 'Returns the access, quota and limits of the key.'),
      get('/v1/usage/{request_id}', 'Returns the cost of a request.'),
    ],
  ],
];
