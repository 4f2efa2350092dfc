export const isText = (mode: string): boolean => /^(?:chat|responses|completion)$/.test(mode);

/** Names of models that generate no text, by mode, where neither the configuration nor a table (`--models`) states one. */
const OTHER_MODES: Record<string, RegExp> = {
  embedding: /embed/i,
  rerank: /rerank/i,
  moderation: /moderation/i,
  audio_transcription: /whisper|transcribe/i,
  audio_speech: /\btts\b/i,
  image_generation:
    /dall-e|gpt-image|imagen|stable-(?:diffusion|image)|image-generator|-canvas|flux/i,
  realtime: /realtime|-sonic/i,
};

export const modeByName = (model: string): string =>
  Object.keys(OTHER_MODES).find((mode) => OTHER_MODES[mode]?.test(model)) ?? 'chat';
