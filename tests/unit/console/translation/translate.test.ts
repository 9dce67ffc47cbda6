import { describe, expect, it } from 'vitest';
import { spanishMeaning, spanishOf, spanishProblem } from '../../../../console/src/translation/spanish.ts';
import { translator } from '../../../../console/src/translation/translate.ts';

const translate = translator(
  {
    'It is full.': 'Está lleno.',
    'Try again in {}.': 'Inténtelo en {1}.',
    '{} of {} fit.': 'De {2} caben {1}.',
    'The {}.': 'El {1}.',
    'The file {}.': 'El archivo {1}.',
  },
  { '{} seconds': '{1} segundos' },
);

describe('the translation of sentences', () => {
  it.each([
    ['It is full.', 'Está lleno.'],
    ['2 of 3 fit.', 'De 3 caben 2.'],
    ['Try again in 5 seconds.', 'Inténtelo en 5 segundos.'],
    ['Try again in a while.', 'Inténtelo en a while.'],
    ['It is full. 2 of 3 fit. Try again in 5 seconds.', 'Está lleno. De 3 caben 2. Inténtelo en 5 segundos.'],
    ['The file a.b. c.', 'El archivo a.b. c.'],
    ['Try again in {}.', 'Inténtelo en {}.'],
  ])('says %j', (english, spanish) => {
    expect(translate(english)).toBe(spanish);
  });

  it.each(['', 'It is empty.', 'It is full. It is empty.', 'it is full.', 'constructor'])(
    'does not know %j',
    (english) => {
      expect(translate(english)).toBeUndefined();
    },
  );
});

describe('the Spanish texts of problems', () => {
  it('say the sentence of the service', () => {
    expect(spanishProblem('NOT_FOUND', 'There is no route with this id.')).toEqual({
      message: 'No hay ninguna ruta con este id.',
      details: [],
    });
  });

  it('say what is wrong with each field', () => {
    const details = [
      { field: 'config.wait', message: 'must be at least 3' },
      { field: '', message: 'is missing; who writes?' },
    ];
    const message = 'config.wait must be at least 3. The body is missing; who writes?.';
    expect(spanishProblem('INVALID_BODY', message, details)).toEqual({
      message: 'config.wait debe ser al menos 3. La petición is missing; who writes?.',
      details: [
        { field: 'config.wait', message: 'debe ser al menos 3' },
        { field: '', message: 'is missing; who writes?' },
      ],
    });
  });

  it('say what the code means when the sentence is of an agent', () => {
    expect(spanishProblem('AGENT_TIMEOUT', 'No answer in 3 s.').message).toBe(
      'El agente tardó más que el tiempo límite. (No answer in 3 s.)',
    );
    expect(spanishProblem('HTTP_502', 'Bad gateway').message).toBe('Bad gateway');
  });

  it('name the kind of a message that an agent does not take', () => {
    expect(spanishMeaning('unsupported-kind:image')).toBe(
      'El mensaje no tiene texto y el agente no acepta archivos.',
    );
    expect(spanishMeaning('toString')).toBeUndefined();
    expect(spanishOf('toString')).toBeUndefined();
  });

  it('say several conditions that do not hold', () => {
    expect(
      spanishOf(
        'Its conditions (`when`) do not hold. The chat is no group. It is mon in UTC; the days are sat, sun.',
      ),
    ).toBe(
      'Sus condiciones (`when`) no se cumplen. El chat no es un grupo. El día es mon en UTC; los días son sat, sun.',
    );
  });
});
