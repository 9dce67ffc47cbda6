import { useFastAgreement } from '../../router/src/providers/baileys/signal/key-agreement.ts';

// Before Baileys is loaded, as in main.ts: the tests and the emulator make keys as fast as the service.
useFastAgreement();
