import {
  useFastAgreement,
  useFastVerification,
} from '../../router/src/providers/baileys/signal/fast-crypto.ts';

// Before Baileys is loaded, as in main.ts: accounts of tests and the emulator are as fast as those of the service.
useFastVerification(false);
useFastAgreement();
