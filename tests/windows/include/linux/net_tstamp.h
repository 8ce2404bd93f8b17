/* linux/net_tstamp.h: for a test that is not run here: the names of what it asks. */
#define SOF_TIMESTAMPING_TX_SOFTWARE 2
#define SOF_TIMESTAMPING_SOFTWARE 16
#define SO_TIMESTAMPING 37
