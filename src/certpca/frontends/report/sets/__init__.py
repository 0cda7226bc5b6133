"""A report on several components: `facts` holds them against data, `compose` lays out what is known."""
